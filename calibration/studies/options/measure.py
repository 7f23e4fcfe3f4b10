"""One option measured: rates, context, latency, thresholds, and the labels it needs."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...choose import Rate, choose_top_k, covering, labels_for_certificate
from ...choose.rule import MIN_NOISE
from ..hybrid.gate import expected_cost
from ..hybrid.source import texts_of
from ..rates import Outcome
from ..tokens import count_tokens
from .bench import Bench
from .designs import CONTEXT, Design, Threshold, first_relevant, judged, shown
from .latency import Latency

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Labels:
    """Labels that an option needs.

    Attributes
    ----------
    answerable : int
        Answerable queries before the hit rate can be certified, with no miss among them.
    off_topic : int
        Off-topic queries before its floors can be chosen; the bundled probes will do.
    why : str
    """

    answerable: int
    off_topic: int
    why: str


@dataclass(frozen=True)
class Context:
    """What an option sends on.

    Attributes
    ----------
    passages, tokens : float or None
        Per answerable query; tokens are unknown where the passages have no texts here.
    off_topic_passages, off_topic_tokens : float or None
        Per off-topic query.
    """

    passages: float | None
    tokens: float | None
    off_topic_passages: float | None
    off_topic_tokens: float | None


@dataclass(frozen=True)
class Option:
    """One option, on queries that its floors have not seen.

    Attributes
    ----------
    missing : str
        Why it was not measured; then there is no `outcome`.
    outcome : Outcome or None
        Each query at the floors chosen without its fold.
    rates : mapping of name to Rate
        Of `outcome`, with intervals that hold for the thresholds to deploy.
    sent : Series
        Tokens (else passages) per query, by query_id; empty where it was not measured.
    top_k_needed : int or None
        The smallest cap at which its own order loses no more answers than noise explains.
    cost : float or None
        Lost and false answers, weighed.
    """

    name: str
    title: str
    note: str
    missing: str
    held_out: bool
    outcome: Outcome | None
    rates: Mapping[str, Rate]
    recall_by_grade: Mapping[int, Rate]
    context: Context
    sent: pd.Series
    latency: Latency | None
    thresholds: tuple[Threshold, ...]
    labels: Labels
    top_k_needed: int | None
    cost: float | None

    @property
    def queries(self) -> pd.DataFrame:
        """The query table of what was shown."""
        if self.outcome is None:
            raise ValueError(f"{self.title} was not measured: {self.missing}")
        return self.outcome.queries


def measure(bench: Bench, found: list[Design], latencies: Mapping[str, Latency]) -> tuple[tuple[Option, ...], str]:
    """Measure all designs on the same queries.

    Returns
    -------
    options, counted_by
        `counted_by` says how tokens were counted; empty where they were not.
    """
    passed = {
        (design.name, held_out): shown(bench, design, held_out=held_out)
        for design in found
        if not design.missing
        for held_out in (True, False)
    }
    tokens, counted_by = _tokens(bench, pd.concat([frame for frame in passed.values()], ignore_index=True))
    options = []
    for design in found:
        if design.missing:
            options.append(_unmeasured(bench, design))
            continue
        unseen, seen = passed[design.name, True], passed[design.name, False]
        options.append(_option(bench, design, unseen, seen, tokens, latencies.get(design.name)))
    return tuple(options), counted_by


def _option(
    bench: Bench,
    design: Design,
    unseen: pd.DataFrame,
    seen: pd.DataFrame,
    tokens: Mapping[str, float],
    latency: Latency | None,
) -> Option:
    outcome, in_sample = (judged(bench, frame, _with_best(bench, frame)) for frame in (unseen, seen))
    rates = {name: covering(in_sample.rates[name], rate) for name, rate in outcome.rates.items()}
    by_grade = {
        grade: covering(in_sample.recall_by_grade[grade], rate) for grade, rate in outcome.recall_by_grade.items()
    }
    ranks = bench.answerable["query_id"].map(first_relevant(bench, unseen)).astype("float64").fillna(np.inf)
    alone = choose_top_k(
        ranks.to_numpy(dtype=np.float64), np.ones(len(ranks), dtype=np.bool_), k_max=bench.params.k_max
    )
    context, sent = _context(bench, unseen, tokens)
    return Option(
        name=design.name,
        title=design.title,
        note=design.note,
        missing="",
        held_out=design.held_out,
        outcome=replace(outcome, rates=rates, recall_by_grade=by_grade),
        rates=rates,
        recall_by_grade=by_grade,
        context=context,
        sent=sent,
        latency=latency,
        thresholds=design.thresholds,
        labels=_labels(bench, design),
        top_k_needed=None if alone.chosen_by == "default" else alone.value,
        cost=expected_cost(rates, bench.costs, bench.far_rate),
    )


def _unmeasured(bench: Bench, design: Design) -> Option:
    nothing = Context(None, None, None, None)
    return Option(
        design.name, design.title, design.note, design.missing, False, None, {}, {}, nothing,
        pd.Series(dtype="float64"), None, (), _labels(bench, design), None, None,
    )  # fmt: skip


def _with_best(bench: Bench, passed: pd.DataFrame) -> pd.DataFrame:
    """Give the query table with the first relevant passage of a design."""
    ranks = bench.table["query_id"].map(first_relevant(bench, passed))
    return bench.table.assign(best_relevant=1.0 / ranks.astype("float64"), best_relevant_rank=ranks.astype("Float64"))


def _context(bench: Bench, passed: pd.DataFrame, tokens: Mapping[str, float]) -> tuple[Context, pd.Series]:
    within = passed[passed["rank"] <= bench.top_k.value]
    queries = bench.table["query_id"].tolist()
    passages = within.groupby("query_id").size().reindex(queries).fillna(0.0).astype("float64")
    counted = pd.Series(np.nan, index=passages.index)
    if tokens:
        lengths = within["doc_id"].map(tokens).astype("float64")
        counted = lengths.groupby(within["query_id"]).sum().reindex(queries).fillna(0.0).astype("float64")

    def mean(values: pd.Series, part: pd.DataFrame) -> float | None:
        own = values.reindex(part["query_id"])
        return None if own.empty or own.isna().any() else float(own.mean())

    context = Context(
        mean(passages, bench.answerable),
        mean(counted, bench.answerable),
        mean(passages, bench.off_topic),
        mean(counted, bench.off_topic),
    )
    return context, counted if tokens else passages


def _tokens(bench: Bench, passed: pd.DataFrame) -> tuple[dict[str, float], str]:
    """Count the tokens of every passage that some option shows; not of documents, of which a part is sent on."""
    wanted = pd.unique(passed.loc[passed["rank"] <= bench.top_k.value, "doc_id"]).tolist()
    corpus = bench.source.labels.corpus
    if corpus is None or not wanted or not set(wanted) <= set(corpus["doc_id"]):
        return {}, ""
    texts = texts_of(bench.source.labels)
    counts, counted_by = count_tokens([texts[doc] for doc in wanted], bench.params.model)
    return dict(zip(wanted, counts, strict=True)), counted_by


def _labels(bench: Bench, design: Design) -> Labels:
    """Say how many labels a design needs; two floors of a hybrid search are chosen on the same ones."""
    params = bench.params
    each = labels_for_certificate(params.target, params.confidence)
    promise = f"a hit rate of {params.target:.0%} with {params.confidence:.0%} confidence"
    if design.name == CONTEXT and design.thresholds:
        n = sum(threshold.context is not None for threshold in design.thresholds)
        return Labels(each * n, MIN_NOISE, f"{each} for {promise} in each of {n} contexts, which share the noise")
    if not design.thresholds:
        return Labels(each, 0, f"{each} for {promise} at K; no noise is needed, since nothing is refused")
    return Labels(each, MIN_NOISE, f"{each} for {promise}, and noise to choose from")
