"""`calibrate carry-labels`: judgements of old passages on a corpus that was cut anew."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options as o

if TYPE_CHECKING:
    from ..labels import Carried

QUERIES, QRELS, FATES, REVIEW = "queries.jsonl", "qrels.tsv", "carried.json", "review.tsv"


def carry_labels(
    new_corpus: Annotated[Path, typer.Argument(help="file of the new passages (JSONL, CSV, TSV, parquet)")],
    out: Annotated[Path, typer.Option("--out", help="folder of the carried labels", metavar="DIR")],
    labels: o.LabelsFolder = None,
    queries: o.Queries = None,
    qrels: o.Qrels = None,
    corpus: o.Corpus = None,
    rel_level: o.RelLevel = None,
    answers: Annotated[
        Path | None,
        typer.Option("--answers", help="marked answers (query_id, doc_id, answer), such as a filled-in review.tsv"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="overwrite files that are there")] = False,
    as_json: o.AsJson = False,
) -> None:
    """Carry labels to a corpus that was cut anew.

    Judgements follow their content into the new passages. What cannot be found again is listed and left out, never a
    miss. Writes queries.jsonl, qrels.tsv, the fate of every judgement (carried.json) and what a person should look at.
    """
    from ..errors import ParameterError
    from ..labels import carry_labels as carry
    from ..labels import read_answers, read_corpus, read_labels
    from ..labels.anchors import carried_warnings
    from ..result import dumps

    targets = [out / name for name in (QUERIES, QRELS, FATES, REVIEW) if (out / name).exists()]
    there = ", ".join(map(str, targets))
    if there and not force:
        raise ParameterError(f"already there: {there}. Nothing was written; --force overwrites them.")
    given = [Path(path) for path in (new_corpus, queries, qrels, corpus, answers) if path is not None]
    if any(target.samefile(path) for target in targets for path in given if path.exists()) or (
        targets and labels is not None and Path(labels).exists() and out.samefile(labels)
    ):
        raise ParameterError(f"{out} holds what is to be read; name another folder for --out.")
    old = read_labels(
        _path(labels),
        queries=_path(queries),
        qrels=_path(qrels),
        corpus=_path(corpus),
        rel_level=rel_level,
        allow_dangling=True,  # they are listed as orphaned
        require_corpus=True,
    )
    passages, warnings = read_corpus(new_corpus)
    found = carry(old, passages, answers={} if answers is None else read_answers(answers))
    _write(found, out)
    for warning in (*carried_warnings(old), *warnings):
        typer.echo(f"calibrate: {warning}", err=True)
    typer.echo(dumps(found.to_dict()) if as_json else f"{found.words()}\n{_next(found, out, new_corpus, rel_level)}")


def _write(found: "Carried", out: Path) -> None:
    from ..result import dumps, write_text

    labels, review = found.labels, found.to_review()
    out.mkdir(parents=True, exist_ok=True)
    columns = review[["query_id", "doc_id", "relevance", "fate"]].assign(
        carried_to=review["carried_to"].map(" ".join), review=review["review"], answer=""
    )
    write_text(out / REVIEW, columns.to_csv(sep="\t", index=False, lineterminator="\n"))
    write_text(out / FATES, dumps(found.to_dict()) + "\n")
    # labels last: what a killed process leaves is no folder of labels
    stated = [row[row.notna()].to_dict() for _, row in labels.queries.iterrows()]
    write_text(out / QUERIES, "".join(dumps(row, indent=None) + "\n" for row in stated))
    write_text(out / QRELS, labels.qrels.to_csv(sep="\t", index=False, lineterminator="\n"))


def _next(found: "Carried", out: Path, new_corpus: Path, rel_level: int | None) -> str:
    lines = [f"wrote {out / QUERIES}, {QRELS}, {FATES} and {REVIEW}"]
    if len(found.to_review()):
        lines.append(f"To settle them, write the answering words into {out / REVIEW} and give it as --answers.")
    level = [] if rel_level is None else ["--rel-level", str(rel_level)]
    command = shlex.join(["calibrate", "run", "--labels", str(out), "--corpus", str(new_corpus), *level])
    lines.append(f"Calibrate on them: {command}")
    return "\n".join(lines)


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)
