"""`calibrate hybrid`: fused, reranked and lexical scores, and where a gate belongs among them."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from .config import parameters_of

if TYPE_CHECKING:
    from ..runs.page import PageRun


def hybrid(
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
    signals: Annotated[
        str | None,
        typer.Option(
            "--signals",
            help="run log with one column per signal; a column exempt (yes or no) marks graph links and pins",
            metavar="FILE",
        ),
    ] = None,
    trec_runs: Annotated[
        list[str] | None, typer.Option("--trec-runs", help="TREC run of one signal", metavar="SIGNAL=FILE")
    ] = None,
    signal_metrics: Annotated[
        list[str] | None, typer.Option("--signal-metrics", help="what a signal is", metavar="SIGNAL=METRIC")
    ] = None,
    unscored: o.Unscored = None,
    proposed_threshold: Annotated[
        float | None,
        typer.Option("--proposed-threshold", parser=o.number, help="what somebody wants to cut at", metavar="T"),
    ] = None,
    depth: o.Depth = None,
    rrf_k: o.RrfK = None,
    vector_weight: Annotated[
        float | None,
        typer.Option("--vector-weight", parser=o.number, help="of the similarity in the weighted sum", metavar="SHARE"),
    ] = None,
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
    """Study a hybrid search.

    Which of its scores can carry a floor, what a proposed number does to recall, and where the gate belongs. The
    candidates are those of your vectors and of PostgreSQL's text search, or of another system's run log. Of several
    models in calibration.toml the first is used. Writes hybrid.html and hybrid.json.
    """
    given: dict[str, Any] = {
        "out": out, "model": model, "labels": labels, "queries": queries, "qrels": qrels, "corpus": corpus,
        "vectors": vectors, "dsn": dsn, "service": service, "table": table, "id_column": id_column,
        "vector_column": vector_column, "document_column": document_column, "where": where, "metric": metric,
        "base_url": base_url, "text_column": text_column, "text_search": text_search, "text_rank": text_rank,
        "signals": signals,
        "trec_runs": ",".join(trec_runs) if trec_runs else None,
        "signal_metrics": ",".join(signal_metrics) if signal_metrics else None, "unscored": unscored,
        "proposed_threshold": proposed_threshold, "depth": depth, "rrf_k": rrf_k, "vector_weight": vector_weight,
        "rerank": rerank, "rerank_depth": rerank_depth, "rel_level": rel_level,
        "unjudged": unjudged, "allow_dangling": allow_dangling or None, "preset": preset, "miss_cost": miss_cost,
        "false_cost": false_cost, "off_topic_share": off_topic_share, "top_k": top_k,
        "exclude_subjects": exclude_subject, "languages": language, "show_text": show_text or None,
        "probes": False if no_probes else None,
        "answerability_by_kind": ",".join(answerability) if answerability else None,
    }  # fmt: skip
    from ..errors import ParameterError
    from ..studies.hybrid.params import HybridParams

    found = parameters_of(HybridParams, given, config, settings or ())
    if model is not None and len(model) > 1:
        raise ParameterError(f"a hybrid study is of one model, found {', '.join(model)}.")
    from ..result.files import dumps
    from ..runs.hybrid import hybrid_page
    from .progress import Bars

    done = hybrid_page(found[0], force=force, report=Bars())
    typer.echo(dumps(done.document) if as_json else _text(done))


def _text(done: "PageRun") -> str:
    document = done.document
    lines = [_score(one) for one in (*document["signals"], *document["fusions"])]
    lines += ["", *(_kept(one) for one in document["collapse"] if one["relevant_kept"] is not None)]
    accept = " or ".join(f"{one['signal']} >= {one['floor']!r}" for one in document["gate"]["accept"])
    best = document["gate"]["recommended"]
    said = accept or (
        "none: letting everything pass costs least" if best else "none: no signal has a floor on these labels"
    )
    lines += ["", f"gate  {said}{f'  ({best})' if accept and best else ''}"]
    passing = document["gate"]["pass_through"]["value"]
    if passing is not None:
        lines.append(f"      before the fusion nothing stricter than similarity >= {passing!r}")
    return "\n".join([*lines, "", f"{done.page}{'  (unchanged)' if done.skipped else ''}"])


def _score(one: dict[str, Any]) -> str:
    low, high = one["range"]["min"], one["range"]["max"]
    span = "nothing scored" if low is None else f"{low:.4g} to {high:.4g}"
    auc = one["auc_on_topic_against_off_topic"]["value"]
    told = "" if auc is None else f"  AUC {auc:.3f}"
    floor = "carries no floor" if one["refused"] else "no floor" if one["floor"] is None else f"floor {one['floor']!r}"
    return f"{one['name']:<17} {span:<20}{told}  {floor}"


def _kept(one: dict[str, Any]) -> str:
    rate = one["relevant_kept"]
    share = "undefined" if rate["value"] is None else f"{rate['value']:.0%}"
    of = f"{rate['numerator']} of {rate['denominator']}"
    return f"{one['threshold']:g} on {one['name']} keeps {share} of relevant candidates ({of})"
