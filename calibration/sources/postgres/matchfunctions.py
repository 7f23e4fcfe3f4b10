"""Functions of a database that search vectors above a threshold, such as match_documents of Supabase's guides."""

import re
from dataclasses import dataclass

from .connect import Connection

_THRESHOLD = re.compile(r"(?i)\b(\w*(?:threshold|cutoff|min_similarity|min_score)\w*)\b")
_DEFAULT = r"(?i)\b{name}\b[\w\s]*?\bDEFAULT\s+\(?'?(-?\d*\.?\d+(?:e-?\d+)?)"


@dataclass(frozen=True)
class MatchFunction:
    """One function that takes a vector and a threshold.

    Attributes
    ----------
    default : float or None
        Default of the threshold, as written there; None where every caller gives one.
    scale : str
        What the threshold is compared with: "cosine_similarity", "cosine_distance", "inner_product", or "unknown".
    inclusive : bool
        Whether a score equal to it is kept.
    body : str
        Its definition.
    """

    name: str
    parameter: str
    default: float | None
    scale: str
    inclusive: bool
    body: str

    @property
    def similarity(self) -> float | None:
        """The default as a cosine similarity; None without one, or where it says nothing of a cosine."""
        if self.default is None:
            return None
        return {"cosine_similarity": self.default, "cosine_distance": round(1 - self.default, 12)}.get(self.scale)

    def searches(self, table: str) -> bool:
        """Tell whether the function's definition names a table."""
        return re.search(rf'(?<![\w"]){re.escape(table)}(?![\w"])|"{re.escape(table)}"', self.body) is not None


def match_functions(connection: Connection) -> list[MatchFunction]:
    """Read the definitions of functions that take a vector and a threshold; those of extensions are left out."""
    rows = connection.execute(
        "SELECT p.proname, pg_get_function_arguments(p.oid), pg_get_functiondef(p.oid) FROM pg_proc p"
        " JOIN pg_namespace n ON n.oid = p.pronamespace"
        " WHERE p.prokind = 'f' AND n.nspname NOT IN ('pg_catalog', 'information_schema')"
        " AND EXISTS (SELECT FROM unnest(p.proargtypes) AS a(oid) JOIN pg_type t ON t.oid = a.oid"
        "  WHERE t.typname IN ('vector', 'halfvec'))"
        " AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e') ORDER BY p.proname"
    ).fetchall()
    found = [function_of(str(name), str(arguments), str(body)) for name, arguments, body in rows]
    return [one for one in found if one is not None]


def function_of(name: str, arguments: str, definition: str) -> MatchFunction | None:
    """Read one definition; None where no parameter is a threshold.

    Examples
    --------
    >>> found = function_of(
    ...     "match_documents",
    ...     "q vector, match_threshold double precision DEFAULT 0.78, match_count integer",
    ...     "select * from documents where 1 - (documents.embedding <=> q) > match_threshold",
    ... )
    >>> found.default, found.scale, found.inclusive, found.searches("documents"), found.searches("document")
    (0.78, 'cosine_similarity', False, True, False)
    """
    named = _THRESHOLD.search(arguments)
    if named is None:
        return None
    parameter = named.group(1)
    default = re.search(_DEFAULT.format(name=re.escape(parameter)), arguments)
    scale, inclusive = _comparison(definition, parameter)
    return MatchFunction(
        name, parameter, None if default is None else float(default.group(1)), scale, inclusive, definition
    )


def _comparison(definition: str, parameter: str) -> tuple[str, bool]:
    """Find what the parameter is compared with, and whether equality passes."""
    text = " ".join(definition.lower().split())
    name = rf"(?:\w+\.)?{re.escape(parameter.lower())}\b"
    forms = (
        ("cosine_similarity", rf"1\s*-\s*\([^()]*<=>[^()]*\)\s*(>=?)\s*{name}"),
        ("cosine_similarity", rf"<=>[^;<>]*?(<=?)\s*\(?\s*1\s*-\s*{name}"),
        ("cosine_distance", rf"<=>[^;<>]*?(<=?)\s*{name}"),
        ("inner_product", rf"<#>[^;<>]*?(<=?)\s*\(?\s*-\s*{name}"),
    )
    for scale, form in forms:
        found = re.search(form, text)
        if found is not None:
            return scale, found.group(1).endswith("=")
    return "unknown", False
