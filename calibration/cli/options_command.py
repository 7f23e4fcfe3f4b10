"""`calibrate options`: five designs of one retrieval system, measured on the same queries."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from .config import parameters_of

if TYPE_CHECKING:
    from ..runs.page import PageRun


def options(
    out: o.Out = None,
    model: o.Model = None,
    labels: o.LabelsFolder = None,
    queries: o.Queries = None,
    qrels: o.Qrels = None,
    corpus: o.Corpus = None,
    vectors: o.Vectors = None,
    dsn: o.Dsn = None,
    service: o.Service = None,
    table: o.TableName = None,
    id_column: o.IdColumn = None,
    vector_column: o.VectorColumn = None,
    document_column: o.DocumentColumn = None,
    where: o.Where = None,
    metric: o.Metric = None,
    base_url: o.BaseUrl = None,
    text_column: o.TextColumn = None,
    text_search: o.TextSearch = None,
    text_rank: o.TextRank = None,
    unscored: o.Unscored = None,
    depth: o.Depth = None,
    rrf_k: o.RrfK = None,
    rerank: o.Rerank = None,
    rerank_depth: o.RerankDepth = None,
    rel_level: o.RelLevel = None,
    unjudged: o.Unjudged = None,
    answerability: o.ByKind = None,
    allow_dangling: o.AllowDangling = False,
    preset: o.Preset = None,
    miss_cost: o.MissCost = None,
    false_cost: o.FalseCost = None,
    off_topic_share: o.OffTopicShare = None,
    top_k: o.TopK = None,
    exclude_subject: o.ExcludeSubject = None,
    language: o.Language = None,
    no_probes: o.NoProbes = False,
    show_text: o.ShowText = False,
    settings: o.Set = None,
    config: o.Config = None,
    force: Annotated[bool, typer.Option("--force", help="make every file anew")] = False,
    as_json: o.AsJson = False,
) -> None:
    """Measure five options.

    One floor for all queries, a floor per context, top-K alone, a reranker and a hybrid search, on your labels, each
    with floors chosen without the queries they are used on. Says which to take by the error you can least afford. Of
    several models in calibration.toml the first is used. Writes options.html and options.json.
    """
    given: dict[str, Any] = {
        "out": out, "model": model, "labels": labels, "queries": queries, "qrels": qrels, "corpus": corpus,
        "vectors": vectors, "dsn": dsn, "service": service, "table": table, "id_column": id_column,
        "vector_column": vector_column, "document_column": document_column, "where": where, "metric": metric,
        "base_url": base_url, "text_column": text_column, "text_search": text_search, "text_rank": text_rank,
        "unscored": unscored, "depth": depth, "rrf_k": rrf_k, "rerank": rerank, "rerank_depth": rerank_depth,
        "rel_level": rel_level, "unjudged": unjudged, "allow_dangling": allow_dangling or None, "preset": preset,
        "miss_cost": miss_cost,
        "false_cost": false_cost, "off_topic_share": off_topic_share, "top_k": top_k,
        "exclude_subjects": exclude_subject, "languages": language, "show_text": show_text or None,
        "probes": False if no_probes else None,
        "answerability_by_kind": ",".join(answerability) if answerability else None,
    }  # fmt: skip
    from ..errors import ParameterError
    from ..studies.options.params import OptionsParams

    found = parameters_of(OptionsParams, given, config, settings or ())
    if model is not None and len(model) > 1:
        raise ParameterError(f"the options are measured with one model, found {', '.join(model)}.")
    from ..result.files import dumps
    from ..runs.options import options_page
    from .progress import Bars

    done = options_page(found[0], force=force, report=Bars())
    typer.echo(dumps(done.document) if as_json else _text(done))


def _text(done: "PageRun") -> str:
    document = done.document
    lines = [_option(one) for one in document["options"]]
    lines += ["", "to take, by what you can least afford"]
    lines += [_verdict(one, document) for one in document["verdicts"]]
    return "\n".join([*lines, "", f"{done.page}{'  (unchanged)' if done.skipped else ''}"])


def _option(one: dict[str, Any]) -> str:
    if not one["measured"]:
        return f"{one['title']:<20} not measured: {one['not_measured_because']}"
    rates, tokens = one["rates"], one["tokens_per_query"]
    said = f"answers kept {_of(rates['hit_rate'])}"
    for name, words in (("false_answer_rate_off_topic", "off-topic"), ("false_answer_rate_probes", "probes")):
        if rates[name]["denominator"]:
            said += f", {words} answered {_of(rates[name])}"
    return f"{one['title']:<20} {said}" + ("" if tokens is None else f", {tokens:,.0f} tokens a query")


def _verdict(one: dict[str, Any], document: dict[str, Any]) -> str:
    titles = {option["name"]: option["title"] for option in document["options"]}
    take = titles.get(one["take"], "not measured")
    same = " (no measurable difference on these labels)" if one["no_measurable_difference"] else ""
    return f"{one['concern']:<20} {take}{same}"


def _of(rate: dict[str, Any]) -> str:
    return f"{rate['numerator']:g} of {rate['denominator']}"
