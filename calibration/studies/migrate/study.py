"""The study itself: both sides searched exactly and as deployed, compared, and judged."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from ...choose.rates import Rate
from ...contract import ContractFile, Converted, Refusal, convert, read_contract
from ...embed import VectorCache, read_vectors
from ...errors import ContractError, LabelError, ParameterError, StoreError
from ...labels import Labels, read_labels
from ...params import RunParams
from ...resources import cache_dir
from ...sources.filesearch import FileSearcher
from ...sources.search import Queries, Searcher
from ..progress import SILENT, Reporter
from ..texts import open_model
from .example import example
from .findings import findings, same_corpus
from .pairs import BOUNDARY, CAUSES, SIDES, flips, pair_table
from .params import MigrateParams
from .rates import (
    Agreement,
    agreement,
    index_recall,
    missing_candidates,
    near_margin,
    positions,
    risk_and_coverage,
    wrong_migrations,
)
from .side import Side, measured
from .source import open_searcher

TOP_K = 10
UNCHANGED, EXCEPT_BOUNDARY = "unchanged", "unchanged except boundary"
NOT_SHOWN, CHANGED = "not shown", "changed"
VECTORS = (".npz", ".parquet")


@dataclass(frozen=True)
class Migration:
    """What a migration does to the accepted sets.

    Attributes
    ----------
    verdict : str
        unchanged | unchanged except boundary | not shown (no query near the threshold) | changed.
    old, new : Side
    conversion : Converted or None
        The old rule in the new units; None where algebra refuses and the new contract brings its own threshold.
    refused : str or None
        Why it does.
    findings : tuple of str
        What the reader must know, as full sentences: thresholds that differ, corpora that differ, rows not indexable.
    pairs : DataFrame
        See `pair_table`.
    flips : DataFrame
        See `flips`.
    agreement : dict of step to Agreement
        "exact" and "deployed".
    recall : dict of side to dict of str to Rate
        `index_recall` of the sides that search through an index.
    missing : dict of side to dict
        `missing_candidates` of the same.
    positions : DataFrame
        See `positions`; `margin` is what counts as near.
    wrong : DataFrame
        See `wrong_migrations`.
    rates : dict of str to dict of str to Rate
        Risk and coverage by column of decisions; empty without labels.
    """

    params: MigrateParams
    verdict: str
    old: Side
    new: Side
    conversion: Converted | None
    refused: str | None
    findings: tuple[str, ...]
    query_ids: tuple[str, ...]
    pairs: pd.DataFrame
    flips: pd.DataFrame
    agreement: dict[str, Agreement]
    recall: dict[str, dict[str, Rate]]
    missing: dict[str, dict[str, list[str]]]
    positions: pd.DataFrame
    margin: float
    wrong: pd.DataFrame
    rates: dict[str, dict[str, Rate]]

    @property
    def caveats(self) -> tuple[str, ...]:
        """What the verdict does not cover, then the findings."""
        return (*self._thin(), *self.findings)

    @property
    def sides(self) -> dict[str, Side]:
        """Both sides by name."""
        return {"old": self.old, "new": self.new}

    @property
    def near(self) -> dict[str, int]:
        """Queries whose best candidate lies above, near and below the threshold."""
        counts = self.positions["position"].value_counts()
        return {name: int(counts.get(name, 0)) for name in ("above", "near", "below")}

    def _thin(self) -> list[str]:
        near = self.near
        missing = [name for name in ("above", "near", "below") if near[name] == 0]
        if not missing:
            return []
        return [
            f"No query's best candidate lies {' or '.join(missing)} the threshold, so that part of the gate was not "
            "exercised. Add such queries."
        ]

    @property
    def causes(self) -> dict[str, int]:
        """Flipped documents by cause."""
        counts = self.flips["cause"].value_counts()
        return {name: int(counts.get(name, 0)) for name in CAUSES}


def migrate(params: MigrateParams, report: Reporter = SILENT) -> Migration:
    """Compare two searches over the same queries: first exactly, then as deployed, each side in one state.

    Raises
    ------
    ContractError
        The old contract has no threshold, or the new one has none and algebra refuses to convert it.
    StoreError
        A source cannot be opened, pulled exactly, or searched as it says.
    """
    if params.old is None or params.new is None:
        with TemporaryDirectory() as folder:
            return migrate(params.model_copy(update=example(Path(folder))), report)
    old_file, new_file = read_contract(params.old), read_contract(params.new)
    conversion, refused, new_file = _converted(old_file, new_file)
    searchers = {"old": open_searcher(old_file), "new": open_searcher(new_file)}
    _check_one_model(old_file, new_file, searchers)
    queries = _queries(params, searchers, report)
    labels = _labels(params)
    files = {"old": old_file, "new": new_file}
    with ExitStack() as stack:
        for searcher in searchers.values():
            stack.enter_context(searcher.frozen())
        # a side waits for its backend most of the time, so both are asked at once
        with report.bar("search both sides", len(SIDES), "sides") as step, ThreadPoolExecutor(len(SIDES)) as pool:
            started = {
                name: pool.submit(measured, file, searchers[name], queries, _cap(file, params))
                for name, file in files.items()
            }
            sides = {}
            for name, running in started.items():
                sides[name] = running.result()
                step(1)
        return compare(params, sides["old"], sides["new"], queries, conversion, refused, labels)


def compare(
    params: MigrateParams,
    old: Side,
    new: Side,
    queries: Queries,
    conversion: Converted | None = None,
    refused: str | None = None,
    labels: Labels | None = None,
) -> Migration:
    """Compare two measured sides."""
    pairs = pair_table(old, new, queries)
    moved = _moved(old, new)
    flipped = flips(pairs, old, new, moved)
    sides = {"old": old, "new": new}
    placed = positions(pairs, old, queries.ids, params.near)
    indexed = {name: side for name, side in sides.items() if side.approximate}
    columns = [f"{name}_{suffix}" for name in SIDES for suffix in ("exact_accepted", "accepted")]
    return Migration(
        params=params,
        verdict=_verdict(flipped, placed),
        old=old,
        new=new,
        conversion=conversion,
        refused=refused,
        findings=findings(old, new, conversion, refused, moved),
        query_ids=tuple(queries.ids),
        pairs=pairs,
        flips=flipped,
        agreement=_agreements(pairs, old, new, queries.ids),
        recall={name: index_recall(pairs, name, side.k) for name, side in indexed.items()},
        missing={name: missing_candidates(pairs, name, side.k) for name, side in indexed.items()},
        positions=placed,
        margin=near_margin(old, placed["best"].to_numpy(dtype=np.float64), params.near),
        wrong=wrong_migrations(pairs, old, new, queries.ids),
        rates={}
        if labels is None
        else {column: risk_and_coverage(pairs, labels, queries.ids, column) for column in columns},
    )


def _agreements(pairs: pd.DataFrame, old: Side, new: Side, query_ids: list[str]) -> dict[str, Agreement]:
    exact = agreement(pairs, old, new, query_ids, "exact")
    same = not (old.approximate or new.approximate)
    deployed = replace(exact, step="deployed") if same else agreement(pairs, old, new, query_ids, "deployed")
    return {"exact": exact, "deployed": deployed}


def _cap(file: ContractFile, params: MigrateParams) -> int:
    if file.top_k is not None:
        return file.top_k
    return TOP_K if params.top_k is None else params.top_k


def _converted(old: ContractFile, new: ContractFile) -> tuple[Converted | None, str | None, ContractFile]:
    """Convert the old threshold; a new contract without one gets the result."""
    if old.threshold is None:
        name = "the old contract" if old.path is None else old.path.name
        raise ContractError(f"{name} has no threshold, so there is no accepted set to keep; write the rule in force.")
    try:
        found = convert(old.threshold, old.contract, new.contract)
    except Refusal as error:
        if new.threshold is None:
            raise
        return None, str(error), new
    if new.threshold is not None:
        return found, None, new
    contract = replace(new.contract, threshold_inclusive=found.inclusive)
    return found, None, replace(new, contract=contract, threshold=found.value)


def _check_one_model(old: ContractFile, new: ContractFile, searchers: dict[str, Searcher]) -> None:
    """Refuse to search two models' vectors with one set of query vectors."""
    versions = (old.contract.embedding_version, new.contract.embedding_version)
    if versions[0] != versions[1] and all(searcher.complete for searcher in searchers.values()):
        raise ContractError(
            f"different embedding_version ({versions[0]!r}, then {versions[1]!r}): query vectors come from one model, "
            "so they cannot search both. Calibrate the new one with `calibrate run`, or give a side's scores in a file."
        )


def _queries(params: MigrateParams, searchers: dict[str, Searcher], report: Reporter) -> Queries:
    files = {name: found for name, found in searchers.items() if isinstance(found, FileSearcher)}
    if params.queries is None:
        if len(files) < len(SIDES):
            raise ParameterError("no queries; pass query vectors (npz or parquet), or questions and the model's name.")
        ids = list(dict.fromkeys(query for found in files.values() for query in found.query_ids))
        return Queries(ids, None)
    path = Path(params.queries)
    if path.suffix.lower() in VECTORS:
        found = read_vectors(path)
        if found.query_ids is None or found.query_vectors is None:
            raise StoreError(f"{path.name} has no query vectors (query_ids, query_vectors).")
        return Queries(found.query_ids, found.query_vectors)
    return _embedded(params, path, report)


def _embedded(params: MigrateParams, path: Path, report: Reporter) -> Queries:
    if params.model is None:
        raise ParameterError(f"{path.name} holds questions, so a model must embed them; pass the model's name.")
    table = read_labels(queries=path).queries
    ids, texts = table["query_id"].tolist(), table["text"].tolist()
    embedder = open_model(RunParams(model=params.model), params.model)
    with report.bar("embed queries", len(texts), "texts") as step:
        vectors = VectorCache(cache_dir()).embed(embedder, texts, "query", step, ids=ids)
    return Queries(ids, vectors)


def _labels(params: MigrateParams) -> Labels | None:
    if params.labels is None and params.qrels is None:
        return None
    questions = params.queries if params.queries and Path(params.queries).suffix.lower() not in VECTORS else None
    if params.labels is None and questions is None:
        raise LabelError("judgements need their queries; pass --labels, a folder with queries and qrels.")
    return read_labels(
        None if params.labels is None else Path(params.labels),
        queries=None if questions is None else Path(questions),
        qrels=None if params.qrels is None else Path(params.qrels),
        rel_level=params.rel_level,
        allow_dangling=True,
    )


def _verdict(flipped: pd.DataFrame, placed: pd.DataFrame) -> str:
    if (flipped["cause"] != BOUNDARY).any():
        return CHANGED
    if not (placed["position"] == "near").any():
        return NOT_SHOWN
    return EXCEPT_BOUNDARY if len(flipped) else UNCHANGED


def _moved(old: Side, new: Side) -> list[str]:
    if old.snapshot is None or new.snapshot is None or same_corpus(old, new):
        return []
    return old.snapshot.moved(new.snapshot)
