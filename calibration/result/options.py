"""options.json: the five options as they were measured, and a verdict per error; ids and numbers, no texts."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..studies.options.identifiers import Identifiers
from ..studies.options.measure import Option
from ..studies.options.paired import Versus
from ..studies.options.study import Options
from ..studies.options.verdicts import Verdict
from .document import strip_nan
from .files import dumps, write_text

OPTIONS = "options.json"
OPTIONS_VERSION = 1


def save_options(found: Options, folder: Path | str) -> dict[str, Any]:
    """Write options.json into a folder and return what it says."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    document = options_document(found)
    write_text(folder / OPTIONS, dumps(document) + "\n")
    return document


def options_document(found: Options) -> dict[str, Any]:
    """Everything measured, as plain JSON; keys and types are those of `options_schema`."""
    bench = found.bench
    document: dict[str, Any] = strip_nan(
        {
            "schema_version": OPTIONS_VERSION,
            "top_k": bench.top_k.value,
            "top_k_chosen_by": bench.top_k.chosen_by,
            "depth": found.params.candidate_depth,
            "queries": {
                "answerable": len(bench.answerable),
                "off_topic": len(bench.off_topic),
                "off_topic_source": bench.far.source,
                "missing_answer": len(bench.missing_answer),
            },
            "costs": asdict(bench.costs),
            "tokens_counted_by": found.counted_by or None,
            "options": [_option(one) for one in found.options],
            "verdicts": [_verdict(one) for one in found.verdicts],
            "identifiers": _identifiers(found.identifiers),
            "caveats": list(found.caveats),
            "source": {name: found.facts.get(name) for name in ("source", "model", "text_search", "rerank")},
            "date": found.facts.get("date"),
            "versions": dict(found.facts.get("versions", {})),
        }
    )
    return document


def _option(one: Option) -> dict[str, Any]:
    return {
        "name": one.name,
        "title": one.title,
        "measured": one.outcome is not None,
        "not_measured_because": one.missing or None,
        "note": one.note or None,
        "held_out": one.held_out,
        "rates": {name: asdict(rate) for name, rate in one.rates.items()},
        "recall_by_grade": {str(grade): asdict(rate) for grade, rate in one.recall_by_grade.items()},
        "passages_per_query": one.context.passages,
        "tokens_per_query": one.context.tokens,
        "passages_per_off_topic_query": one.context.off_topic_passages,
        "tokens_per_off_topic_query": one.context.off_topic_tokens,
        "added_latency_ms": None if one.latency is None else asdict(one.latency),
        "thresholds": [
            {
                "signal": threshold.signal,
                "context": threshold.context,
                "floor": threshold.value,
                "status": threshold.status,
                "contract": threshold.contract.to_dict(),
            }
            for threshold in one.thresholds
        ],
        "top_k_needed": one.top_k_needed,
        "labels_needed": asdict(one.labels),
        "expected_cost": one.cost,
    }


def _verdict(one: Verdict) -> dict[str, Any]:
    tested = one.tested
    return {
        "concern": one.concern,
        "take": one.take,
        "best": list(one.best),
        "worse": list(one.worse),
        "no_measurable_difference": one.no_difference,
        "words": one.words,
        "queries": None if tested is None else tested.n,
        "level": None if tested is None else tested.level,
        "pairs": [] if tested is None else [asdict(pair) for pair in tested.pairs],
        "pairs_on_probes": [] if tested is None else [asdict(pair) for pair in tested.more],
    }


def _identifiers(found: Identifiers) -> dict[str, Any]:
    versus: Versus | None = found.versus
    return {
        "told_by": found.how,
        "answerable": found.n,
        "only_lexical": asdict(found.only_words),
        "only_similarity": asdict(found.only_vectors),
        "kept": {title: asdict(rate) for title, rate in found.kept.items()},
        "hybrid_against": None if versus is None else asdict(versus),
    }
