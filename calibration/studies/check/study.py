"""The check study: a committed recommendation against the live system, frozen query by frozen query."""

from dataclasses import dataclass

import pandas as pd

from ...contract import ScoreContract
from ...errors import ParameterError
from ...labels.tables import counted
from ...params import RunParams
from ...scores import query_table
from ..calibrate import Pulled, pull
from ..facts import run_facts
from ..fingerprint import fingerprint
from ..progress import SILENT, Reporter
from ..rates import outcome
from .baseline import Baseline
from .drift import (
    AcceptedChange,
    MustChange,
    RateChange,
    accepted_changes,
    carried_verdict,
    frozen,
    must_changes,
    not_asked,
)
from .drift import rate_changes as compare_rates
from .rise import CeilingRise, ceiling_rise
from .staleness import Change, compare_fingerprints


@dataclass(frozen=True)
class Check:
    """What is not as it was.

    Attributes
    ----------
    baseline : Baseline
    model : str or None
        That answered today.
    floor, top_k
        The baseline's.
    n_queries, n_documents : int
        Frozen queries asked again, and passages scored.
    tolerance : float or None
        None: the band of noise.
    changes : tuple of Change
    rates : tuple of RateChange
        Empty where today's scores are on another scale than the floor.
    verdict : str
        What the old floor does to today's scores as a whole; may be empty.
    """

    baseline: Baseline
    model: str | None
    floor: float | None
    top_k: int
    n_queries: int
    n_documents: int | None
    tolerance: float | None
    changes: tuple[Change, ...]
    rates: tuple[RateChange, ...]
    musts: tuple[MustChange, ...]
    accepted: tuple[AcceptedChange, ...]
    missing: tuple[str, ...]
    ceiling: CeilingRise | None
    verdict: str

    @property
    def stale(self) -> bool:
        """Whether something changed that the floor cannot survive."""
        return any(change.consequence == "stale" for change in self.changes)

    @property
    def failures(self) -> list[str]:
        """Every reason to fail, as sentences without a full stop."""
        gates = [f"{rate.measure.words}: {rate.why}" for rate in self.rates if rate.failed]
        musts = [f"query {must.query_id} must {must.must}: {must.words}" for must in self.musts if must.broken]
        verdict = [self.verdict] if self.verdict and not gates else []
        return gates + musts + verdict

    @property
    def warnings(self) -> list[str]:
        """What does not fail and should be known, as sentences."""
        said = [self.ceiling.words] if self.ceiling is not None and self.ceiling.warned else []
        if self.missing:
            named = ", ".join(self.missing[:5]) + (", …" if len(self.missing) > 5 else "")
            count = counted(len(self.missing), "frozen query was", "frozen queries were")
            said.append(f"{count} not asked, being neither among today's labels nor among its probes ({named}).")
        gates = [rate for rate in self.rates if rate.measure.gate]
        if gates and not any(rate.measure.good and rate.before.numerator > 0 for rate in gates):
            said.append("The baseline keeps no answer, so that lost ones cannot be seen.")
        if gates and all(rate.measure.good or rate.before.numerator == rate.before.denominator for rate in gates):
            said.append("The baseline refuses no off-topic and no probe query: answering everything would not be seen.")
        return said

    @property
    def regressed(self) -> bool:
        """Whether a gate failed or a query that must hit or be refused broke."""
        return bool(self.failures)

    @property
    def ok(self) -> bool:
        """Whether the floor still stands."""
        return not (self.stale or self.regressed)

    @property
    def status(self) -> str:
        """fine, stale, regression, or both."""
        parts = [name for name, found in (("stale", self.stale), ("regression", self.regressed)) if found]
        return " and ".join(parts) or "fine"


def check_baseline(
    baseline: Baseline, params: RunParams, *, tolerance: float | None = None, report: Reporter = SILENT
) -> Check:
    """Ask the frozen queries again and compare.

    Nothing is written: the baseline changes only by `accept_baseline`.

    Parameters
    ----------
    params : RunParams
        The live system; see `live_parameters`.
    tolerance : float, optional
        Allowed loss of each gate's rate, in place of the band of noise that follows from the number of queries.

    Raises
    ------
    CalibrationError
        Nothing could be evaluated: no queries, no documents, no model, no connection.
    """
    check_tolerance(tolerance)
    params = deep_enough(params, baseline.top_k)
    return compare_pull(baseline, pull(params, report), params, tolerance=tolerance)


def compare_pull(baseline: Baseline, pulled: Pulled, params: RunParams, *, tolerance: float | None = None) -> Check:
    """Compare a baseline with scores that are at hand."""
    contract = pulled.scores.contract
    facts = {**run_facts(params, pulled.labels, pulled.probes), **pulled.facts}
    today = fingerprint(facts, contract.to_dict(), pulled.scores.n_documents, params)
    changes = compare_fingerprints(
        baseline.document["fingerprint"], today, baseline.document["contract"], contract.to_dict()
    )
    now = _ask(baseline, pulled, contract, params)
    missing = not_asked(baseline.queries, now)
    asked = len(baseline.queries) - len(missing)
    if asked == 0:
        raise ParameterError(
            f"0 queries evaluated: none of the {len(missing)} frozen queries is among today's labels. Give the labels "
            "of the baseline."
        )
    rates = compare_rates(baseline.queries, now, tolerance=tolerance)
    if not (baseline.queries["must"] != "-").any() and not any(rate.frozen for rate in rates if rate.measure.gate):
        raise ParameterError(
            f"0 queries evaluated: none of the {asked} frozen queries is answerable, off-topic or a probe, and none "
            "must hit or be refused. Label some and calibrate anew."
        )
    comparable = contract.scale == baseline.contract.scale
    return Check(
        baseline=baseline,
        model=params.model,
        floor=baseline.floor,
        top_k=baseline.top_k,
        n_queries=asked,
        n_documents=pulled.scores.n_documents,
        tolerance=tolerance,
        changes=tuple(changes),
        rates=tuple(rates) if comparable else (),
        musts=tuple(must_changes(baseline.queries, now)) if comparable else (),
        accepted=tuple(accepted_changes(baseline.queries, now)) if comparable else (),
        missing=tuple(missing),
        ceiling=_ceiling(baseline, now, pulled.scores.n_documents) if comparable else None,
        verdict=carried_verdict(baseline.queries, now, baseline.floor, baseline.contract) if comparable else "",
    )


def deep_enough(params: RunParams, top_k: int) -> RunParams:
    """Look as deep as the frozen cap."""
    return params.model_copy(update={"k_max": max(params.k_max, top_k)})


def check_tolerance(tolerance: float | None) -> None:
    """Refuse a tolerance that is no share."""
    if tolerance is not None and not 0.0 <= tolerance < 1.0:
        raise ParameterError(f"tolerance is {tolerance:g}, expected a share such as 0.02.")


def _ask(baseline: Baseline, pulled: Pulled, contract: ScoreContract, params: RunParams) -> pd.DataFrame:
    """Give what the old floor and cap do to the queries today."""
    table = query_table(pulled.scores, pulled.labels, pulled.probes)
    floor = baseline.floor if contract.scale == baseline.contract.scale else None
    result = outcome(pulled.scores, pulled.labels, table, floor, baseline.top_k, seed=params.seed)
    return frozen(result)


def _ceiling(baseline: Baseline, now: pd.DataFrame, n_documents: int | None) -> CeilingRise | None:
    documents = (baseline.document["ceiling"]["corpus_size"], n_documents)
    return ceiling_rise(baseline.queries, now, floor=baseline.floor, documents=documents)
