"""A finished run's folder back into the object that displays show: computed again from its files, and checked."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..errors import ParameterError, listed
from ..labels import Labels
from ..params import RunParams, parameters
from ..result.document import recommendation_document
from ..scores import Histogram, Scores
from ..studies.analyse import analyse
from ..studies.check.baseline import MANIFEST, QUERIES, RECOMMENDATION, SCORES, Baseline, read_baseline
from ..studies.model import Calibration

CHECKED = ("status", "floor", "top_k", "rates", "certificate")
"""Parts of recommendation.json that have to come out again, to the ninth digit."""


def read_run(folder: Path | str) -> Calibration:
    """Read the folder of one model's run, without its database, its model or its labels' files.

    Everything is computed again from the scores and has to give the same recommendation. What no file of a run holds is
    missing: texts, subjects of probes, tokens per passage, floors per collection, and of a large corpus the
    distribution of all passages.

    Parameters
    ----------
    folder : path
        As `calibrate run` leaves it: recommendation.json, queries.jsonl, scores.parquet and run.json.

    Raises
    ------
    ParameterError
        Files are missing or broken, or they do not give the recommendation again.
    """
    folder = Path(folder)
    missing = [name for name in (RECOMMENDATION, QUERIES, SCORES, MANIFEST) if not (folder / name).is_file()]
    if missing:
        raise ParameterError(
            f"{folder} is no run of one model: {', '.join(missing)} cannot be found. `calibrate run` writes one folder "
            "per model."
        )
    baseline = read_baseline(folder)
    params = _params(baseline)
    queries = _queries(folder / QUERIES)
    rows = _exact(_rows(folder / SCORES), queries)
    labels = _labels(queries[~queries["probe"].to_numpy(dtype=bool)], rows, params)
    probes = queries[queries["probe"].to_numpy(dtype=bool)]
    found = analyse(
        _scores(rows, queries, baseline, params),
        labels,
        probes[["query_id", "kind"]] if len(probes) else None,
        params,
        name=baseline.document["model"],
        facts={name: baseline.document[name] for name in ("date", "versions", "fingerprint")},
    )
    _check(found, baseline)
    return replace(found, caveats=tuple(baseline.document["caveats"]))


def _params(baseline: Baseline) -> RunParams:
    values = dict(baseline.parameters or {})
    # an address whose user is hidden is none
    return parameters({name: value for name, value in values.items() if "***" not in str(value)})


def _queries(path: Path) -> pd.DataFrame:
    """Every line as it is; `read_baseline` has looked at them. pandas would round their numbers and guess at types."""
    names = ["query_id", "kind", "answerability", "group", "must", "probe", "top_similarity", "best_relevant"]
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8-sig").split("\n") if line.strip()]
    absent = [name for name in (*names, "best_relevant_rank") if any(name not in line for line in lines)]
    if absent:
        raise ParameterError(f"{path} is of an older version: {', '.join(absent)} missing. Repeat the run.")
    frame = pd.DataFrame(lines, columns=[*names, "best_relevant_rank"])
    return frame.astype({"top_similarity": "float64", "best_relevant": "float64", "best_relevant_rank": "Int64"})


def _rows(path: Path) -> pd.DataFrame:
    try:
        rows = pd.read_parquet(path, columns=["query_id", "doc_id", "similarity", "rank", "relevance"])
    except (ValueError, KeyError) as error:  # pyarrow's errors among them
        raise ParameterError(f"{path} cannot be read as the scores of a run: {error}") from None
    return rows.astype({"similarity": "float64"})


def _exact(rows: pd.DataFrame, queries: pd.DataFrame) -> pd.DataFrame:
    """Put the similarities that decide a floor in full where scores.parquet has them rounded to 4 bytes."""
    similarity = rows["similarity"].to_numpy(copy=True)
    place = pd.Series(np.arange(len(rows)), index=pd.MultiIndex.from_frame(rows[["query_id", "rank"]]))
    place = place[~place.index.duplicated()]
    known = []
    for value, rank in (("top_similarity", None), ("best_relevant", "best_relevant_rank")):
        ranks = pd.Series(1, index=queries.index) if rank is None else queries[rank]
        asked = pd.DataFrame({"id": queries["query_id"], "rank": ranks, "full": queries[value]}).dropna()
        at = place.reindex(pd.MultiIndex.from_arrays([asked["id"], asked["rank"].astype("int64")])).to_numpy()
        found = pd.DataFrame({"at": at, "full": asked["full"].to_numpy(dtype=np.float64)}).dropna().astype({"at": int})
        stored = similarity[found["at"]]
        found["stored"] = stored
        known.append(found[found["full"].to_numpy().astype(np.float32) == stored.astype(np.float32)])
    pairs = pd.concat(known)
    # a value that occurs elsewhere too stays one value
    full = pairs.drop_duplicates("stored").set_index("stored")["full"]
    similarity = rows["similarity"].map(full).fillna(rows["similarity"]).to_numpy(copy=True)
    similarity[pairs["at"]] = pairs["full"]
    return rows.assign(similarity=similarity)


def _labels(queries: pd.DataFrame, rows: pd.DataFrame, params: RunParams) -> Labels:
    names = ["query_id", "kind", "answerability", "group", "must"]
    table = queries[names].astype("str").assign(text=pd.Series(pd.NA, index=queries.index, dtype="str"))
    qrels = rows.loc[rows["relevance"].notna(), ["query_id", "doc_id", "relevance"]].astype({"relevance": "int64"})
    level = 1 if params.rel_level is None else params.rel_level
    return Labels(table.reset_index(drop=True), qrels.reset_index(drop=True), None, level, params.unjudged)


def _scores(rows: pd.DataFrame, queries: pd.DataFrame, baseline: Baseline, params: RunParams) -> Scores:
    from ..studies.pull import MIN_DEPTH

    document, query_ids = baseline.document, queries["query_id"].astype("str").tolist()
    size, depth = document["ceiling"]["corpus_size"], max(MIN_DEPTH, 2 * params.k_max)
    scored = rows[rows["similarity"].notna() & rows["rank"].notna()]
    whole = size is None or len(scored) == size * len(query_ids)
    plain = scored[["query_id", "doc_id", "similarity", "rank"]].astype({"rank": "int64"}).reset_index(drop=True)
    judged = rows[rows["relevance"].notna()].astype({"relevance": "int64", "rank": "Int64"})
    return Scores(
        contract=baseline.contract,
        query_ids=query_ids,
        top=plain[plain["rank"] <= depth].reset_index(drop=True),
        judged=judged[["query_id", "doc_id", "relevance", "similarity", "rank"]].reset_index(drop=True),
        histogram=_histogram(plain if whole else plain.iloc[:0], query_ids, cosine=baseline.contract.on_cosine_scale),
        everything=plain if whole else None,
        n_documents=size,
        exact=document["exact"],
        depth=depth,
        level=document["level"],
    )


def _histogram(scored: pd.DataFrame, query_ids: list[str], *, cosine: bool) -> Histogram:
    """Count every similarity of a small corpus; of a large one the files hold the best only, and nothing is counted."""
    from ..scores.summary import BINS

    values = scored["similarity"].to_numpy()
    low, high = (-1.0, 1.0) if cosine or not len(values) else (float(values.min()), float(values.max()))
    edges = np.linspace(low, high if high > low else low + 1.0, BINS + 1)
    rows = pd.Index(query_ids).get_indexer(pd.Index(scored["query_id"]))
    beside = np.arange(len(query_ids) + 1) - 0.5
    counts, _, _ = np.histogram2d(rows, np.clip(values, edges[0], edges[-1]), bins=(beside, edges))
    return Histogram(edges, counts.astype(np.int64))


def _check(found: Calibration, baseline: Baseline) -> None:
    again: dict[str, Any] = recommendation_document(found)
    different = [
        f"{name}: {_brief(baseline.document[name])} in the file, {_brief(again[name])} from the scores"
        for name in CHECKED
        if not _same(baseline.document[name], again[name])
    ]
    if different:
        raise ParameterError(
            f"the files in {baseline.path.parent} do not give its recommendation again; repeat the run with this "
            "version:\n" + listed(different)
        )


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    if isinstance(one, float) and isinstance(other, float):
        return bool(np.isclose(one, other, rtol=1e-9, atol=1e-9))
    return bool(one == other)


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else "other values"
