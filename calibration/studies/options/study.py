"""The options study: parameters in, five measured options and a verdict per error out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..facts import command, public_parameters
from ..hybrid.source import Source, open_source
from ..progress import SILENT, Reporter
from .bench import Bench, set_up
from .designs import CONTEXT, designs
from .identifiers import Identifiers, identifiers
from .latency import latencies
from .measure import Option, measure
from .params import OptionsParams
from .reranked import with_rerank
from .verdicts import Verdict, verdicts


@dataclass(frozen=True)
class Options:
    """Everything one options study found out.

    Attributes
    ----------
    bench : Bench
        What all options were measured on.
    options : tuple of Option
    verdicts : tuple of Verdict
        Lost answers, false answers, context cost, upkeep.
    counted_by : str
        How tokens were counted; empty where they were not.
    """

    params: OptionsParams
    bench: Bench
    options: tuple[Option, ...]
    verdicts: tuple[Verdict, ...]
    identifiers: Identifiers
    counted_by: str
    facts: Mapping[str, Any]
    caveats: tuple[str, ...]

    @property
    def measured(self) -> tuple[Option, ...]:
        """The options that could be measured."""
        return tuple(one for one in self.options if one.outcome is not None)

    def get(self, name: str) -> Option:
        """Find an option by name."""
        return next(one for one in self.options if one.name == name)


def options(params: OptionsParams, report: Reporter = SILENT) -> Options:
    """Measure the five options on one model and one set of labels.

    Raises
    ------
    CalibrationError
        Parameters, labels, model or store are wrong. That an option cannot be measured is a result.
    """
    return study(open_source(params.search, report), params, report)


def study(source: Source, params: OptionsParams, report: Reporter = SILENT) -> Options:
    """Measure a source that is open already."""
    candidates, no_reranker = with_rerank(source, params, report)
    bench = set_up(source, candidates, params)
    with report.bar("options", 3, "steps") as step:
        found = list(designs(bench, no_reranker))
        step(1)
        times = latencies(bench, reranks=not no_reranker)
        step(1)
        measured, counted_by = measure(bench, found, times)
        step(1)
    facts = {
        **source.facts,
        "parameters": public_parameters(params),
        "command": command(params, "options"),
        "depth": params.candidate_depth,
        "rerank": {"name": params.rerank, "depth": params.rerank_depth},
    }
    return Options(
        params=params,
        bench=bench,
        options=measured,
        verdicts=verdicts(bench, measured),
        identifiers=identifiers(bench, measured),
        counted_by=counted_by,
        facts=facts,
        caveats=_caveats(bench, measured, params),
    )


def _caveats(bench: Bench, measured: tuple[Option, ...], params: OptionsParams) -> tuple[str, ...]:
    said = [f"Not measured, {one.title}: {one.missing}." for one in measured if one.missing and one.name != CONTEXT]
    said += [
        f"The floors of {one.title} rest on too few queries to hold any out: its rates are those of the queries that "
        "chose them, and flatter it."
        for one in measured
        if one.outcome is not None and not one.held_out
    ]
    if bench.top_k.chosen_by == "labels":
        said.append(
            f"K = {bench.top_k.value} was chosen on these queries, in the order by similarity, and is the same for all "
            "options; an option with a better order would do with a smaller one."
        )
    if bench.far_rate.endswith("probes") and len(bench.off_topic):
        said.append(
            "False answers are those of the bundled probe queries, which are far from most corpora; off-topic "
            "questions of your own users may lie nearer. Label 20 of them."
        )
    n = len(bench.answerable)
    if n < 50:
        said.append(f"{n} answerable queries show large differences only.")
    if params.rerank == "late-interaction" and any(one.name == "rerank" and not one.missing for one in measured):
        said.append(
            "The reranker is MiniLM's token vectors, a model made for another purpose; a trained cross-encoder may do "
            "better. Name your own endpoint with rerank to have it measured."
        )
    return (*said, *bench.source.labels.warnings)
