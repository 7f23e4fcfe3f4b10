"""One side of a migration, measured: the frozen corpus, the exact best of each query, and the search as deployed."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...contract import UNIT, ContractFile, ScoreContract, tolerance_for
from ...embed import measured_norms
from ...errors import ContractError, StoreError
from ...sources.base import Floats64, Preflight, raise_blocking
from ...sources.search import Best, Candidates, Queries, Searcher
from ...sources.snapshot import Snapshot

SPARE = 5
"""Exact candidates kept beyond the cap: ties around the last rank are told from losses."""

AGREEMENT = 1e-3
"""How far the matrix product and the backend's operator may differ on the similarity scale, times its reach."""


@dataclass(frozen=True)
class Side:
    """What one side of a migration holds and returns.

    Attributes
    ----------
    file : ContractFile
        With a threshold; on the new side converted when it had none.
    contract : ScoreContract
        Of the backend's own numbers: the file's, without the transform the application puts on them.
    k : int
        The cap on accepted documents.
    preflight : Preflight
    snapshot : Snapshot or None
        None for a score file.
    left_out : mapping
        Rows that cannot be scored, and so are in no index: id -> why.
    exact : Candidates
        The best by the matrix product, some more than `k`; `pair_table` orders them by the backend's own numbers. For a
        score file all it holds.
    deployed : Candidates or None
        None where the source searches exactly.
    """

    file: ContractFile
    contract: ScoreContract
    k: int
    searcher: Searcher
    preflight: Preflight
    snapshot: Snapshot | None
    left_out: dict[str, str]
    exact: Candidates
    deployed: Candidates | None

    @property
    def threshold(self) -> float:
        """The threshold, raw."""
        if self.file.threshold is None:
            raise ContractError("this side has no threshold.")
        return self.file.threshold

    @property
    def floor(self) -> float:
        """The threshold as a similarity."""
        return self.file.contract.similarity_of(self.threshold)

    @property
    def approximate(self) -> bool:
        """Whether the search as deployed may miss documents."""
        return self.searcher.approximate

    @property
    def rounding(self) -> float:
        """How far storage may move a similarity: the contract's tolerance, or the column type's where that is wider."""
        kind = self.searcher.describe().get("column_type")
        if kind is None or not self.contract.on_cosine_scale:
            return self.file.contract.tolerance
        return max(self.file.contract.tolerance, tolerance_for(kind, *self.preflight.dimensions))

    def similarity(self, raw: npt.ArrayLike) -> Floats64:
        """Turn the backend's raw values into similarities."""
        return self.contract.similarity(raw)

    def accept(self, similarity: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Apply the threshold, with this side's comparison and tolerance."""
        return self.file.contract.accept(similarity, self.floor)

    def describe(self) -> dict[str, Any]:
        """Give the receipt of this side: adapter, metric, normalisation, index settings, snapshot."""
        facts = self.preflight
        return {
            **self.searcher.describe(),
            "contract": self.file.contract.to_dict(),
            "threshold": self.file.threshold,
            "floor": self.floor,
            "top_k": self.k,
            "rows": facts.rows,
            "null_vectors": facts.null_vectors,
            "zero_vectors": facts.zero_vectors,
            "not_unit": facts.not_unit if facts.dimensions else None,
            "problems": list(facts.problems),
            "corpus_hash": None if self.snapshot is None else self.snapshot.digest,
        }


def measured(file: ContractFile, searcher: Searcher, queries: Queries, k: int) -> Side:
    """Measure one side: facts first, then every score exactly, then the search as deployed.

    Raises
    ------
    StoreError
        Nothing can be scored; the backend's numbers are not those of the declared metric; rows changed on the way.
    ContractError
        Vectors are not of unit length although contract and metric need it.
    """
    contract = _backend_contract(file.contract, searcher)
    facts = searcher.preflight()
    raise_blocking(facts)
    if searcher.complete:
        _check_lengths(contract, facts, queries)
    with ThreadPoolExecutor(1) as pool:  # the search waits for its backend while the exact pass computes
        searching = pool.submit(searcher.search, queries, k) if searcher.approximate else None
        if searcher.complete:
            exact, snapshot = _exact(searcher, contract, queries, k + SPARE)
        else:
            exact, snapshot = searcher.search(queries, max(facts.rows, 1)), None
        deployed = None if searching is None else searching.result()
    if snapshot is not None and deployed is not None:
        _check_frozen(deployed, snapshot)
    left_out = searcher.left_out() if facts.null_vectors or facts.zero_vectors else {}
    return Side(file, contract, k, searcher, facts, snapshot, left_out, exact, deployed)


def _exact(searcher: Searcher, contract: ScoreContract, queries: Queries, depth: int) -> tuple[Candidates, Snapshot]:
    best = Best(len(queries.ids), depth, higher_is_better=contract.definition.higher_is_better)
    snapshot = Snapshot()
    for block in searcher.all_scores(queries):
        best.add(block.doc_ids, block.scores)
        snapshot.add(block.doc_ids, block.vectors)
    return Candidates(best.ids(), best.scores()), snapshot


def _backend_contract(contract: ScoreContract, searcher: Searcher) -> ScoreContract:
    if not searcher.complete:
        return contract
    return replace(contract, score_transform="none")


def _check_lengths(contract: ScoreContract, facts: Preflight, queries: Queries) -> None:
    """Refuse a claim of unit length that a measurement contradicts, where the conversion rests on it."""
    if not contract.definition.needs_unit_vectors or contract.normalisation != UNIT or queries.vectors is None:
        return
    norms = measured_norms(queries.vectors)
    wrong = []
    if facts.not_unit:
        wrong.append(
            f"{facts.not_unit} of {facts.rows} document vectors not unit length (norms {facts.norm_min:.6g} to "
            f"{facts.norm_max:.6g})"
        )
    if norms.not_unit:
        wrong.append(f"{norms.not_unit} of {len(queries.ids)} query vectors not unit length")
    if wrong:
        raise ContractError(
            f"{'; '.join(wrong)}: the contract says {UNIT}, and {contract.metric} converts for unit vectors only. "
            "Normalise them, or correct the contract's normalisation."
        )


def check_agreement(contract: ScoreContract, products: Floats64, own: Floats64) -> None:
    """Refuse a backend whose own numbers are not those of the matrix product; raw values, aligned.

    Raises
    ------
    StoreError
        They differ by more than rounding, or rows have vanished.
    """
    ours, theirs = contract.similarity(products), contract.similarity(own)
    lost = int(np.isnan(theirs).sum())
    if lost:
        raise StoreError(f"{lost} rows vanished between two looks at the table: it changes. Migrate a frozen copy.")
    if len(ours) == 0:
        return
    apart = float(np.abs(ours - theirs).max())
    if apart > AGREEMENT * max(1.0, float(np.abs(theirs).max())):
        raise StoreError(
            f"the backend's own {contract.metric} and the matrix product differ by up to {apart:.3g}: the index or the "
            "column measures something else than the contract says."
        )


def _check_frozen(found: Candidates, snapshot: Snapshot) -> None:
    known = set(snapshot.ids)
    new = sorted({name for names in found.ids for name in names} - known)
    if new:
        raise StoreError(
            f"the search returned {len(new)} documents that were not in the snapshot, such as {new[0]}: the table "
            "changes, or repeats ids. Migrate a frozen copy."
        )
