"""What `recognise` says of a database: its tables with vectors, and what is in them."""

from dataclasses import dataclass, field

from .catalog import Names
from .matchfunctions import MatchFunction


@dataclass(frozen=True)
class Collection:
    """One of LangChain's collections: rows of one table under one name."""

    id: str
    name: str
    rows: int
    dimensions: int | None = None

    @property
    def described(self) -> str:
        """Name, rows and width."""
        width = "" if self.dimensions is None else f" of {self.dimensions} dimensions"
        return f"{self.name}: {self.rows:,} row{'' if self.rows == 1 else 's'}{width}"


@dataclass(frozen=True)
class VectorColumn:
    """A column of vectors; `dimensions` is None where it is open and no vector shows it."""

    name: str
    type: str
    dimensions: int | None

    @property
    def described(self) -> str:
        """Name, type and width."""
        return f"{self.name} {self.type} of {'unknown' if self.dimensions is None else self.dimensions} dimensions"


@dataclass(frozen=True)
class VectorTable:
    """One table or view with a column of vectors.

    Attributes
    ----------
    name : str
        As the `table` parameter takes it: with its schema only off the search path, quoted where necessary.
    schema, relation : str
        The same as the catalog has them.
    kind : str
        "LangChain", "LlamaIndex", "Haystack", "Supabase" or "plain".
    rows : int
        Counted, or the server's estimate where `counted` is False; -1 where it has none.
    columns : tuple of str
        Those this role may read.
    id_column : str or None
        None where nothing says which it is.
    hints : dict
        Other parameters whose columns are there: document_column, model_column.
    models : tuple of str
        What the model column says; empty where there is none, or where it was not read.
    trouble : str
        Why its rows could not be read; empty otherwise.
    """

    name: str
    schema: str
    relation: str
    kind: str
    rows: int
    counted: bool
    columns: tuple[str, ...]
    vectors: tuple[VectorColumn, ...]
    id_column: str | None
    hints: dict[str, str] = field(default_factory=dict)
    models: tuple[str, ...] = ()
    collections: tuple[Collection, ...] = ()
    functions: tuple[MatchFunction, ...] = ()
    trouble: str = ""

    @property
    def described(self) -> str:
        """One line: name, whose, rows and dimensions."""
        rows = f"{self.rows:,} row{'' if self.rows == 1 else 's'}"
        shown = rows if self.counted else f"about {rows}" if self.rows >= 0 else "rows not counted"
        trouble = f"; its rows cannot be read: {self.trouble}" if self.trouble else ""
        return f"{self.name} ({self.kind}): {shown}, {', '.join(one.described for one in self.vectors)}{trouble}"

    def is_named(self, name: str) -> bool:
        """Tell whether a user's name, with its schema or without, quoted or not, means this table."""
        whole = (self.relation, f"{self.schema}.{self.relation}")
        return name in (*whole, self.name) or Names(name).parts in ([self.relation], [self.schema, self.relation])


@dataclass(frozen=True)
class Found:
    """What a database holds.

    Attributes
    ----------
    tables : list of VectorTable
        Those with vectors that this role may read, the largest first.
    hidden : list of str
        Names of those whose vectors it may not read.
    has_pgvector : bool
        Whether the extension is there at all.
    """

    tables: list[VectorTable]
    hidden: list[str]
    has_pgvector: bool
    database: str
    role: str
