"""Which queries fail, and why: the first reason that applies."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from markupsafe import Markup

from ..studies.model import Calibration
from ..studies.rates import FLOOR_MISS, INDEX_MISS, RANK_MISS
from .base import TableDisplay
from .tables import Cell, cell, table_html
from .texts import counted, is_missing, records, short, shorten

MOST = 200
BROKEN = "must flag broken"
FALSE_ANSWER = "off-topic but answered"
PROBE_ANSWERED = "probe but answered"
MISSING_ANSWERED = "answer missing but answered"
ONLY_WRONG = "only wrong passages"
ORDER = [INDEX_MISS, RANK_MISS, FLOOR_MISS, FALSE_ANSWER, MISSING_ANSWERED, PROBE_ANSWERED]


FLAGS = {"must_broken": BROKEN, "only_noise": "nothing relevant accepted", "boundary": "on the boundary"}
COLUMNS = [
    "query_id", "kind", "answerability", "what", "must_broken", "only_noise", "best_relevant", "best_relevant_rank",
    "top_similarity", "boundary", "margin", "n_accepted", "first_accepted",
]  # fmt: skip


class FailuresDisplay(TableDisplay):
    """Failing queries by id; their texts only where they were asked for."""

    title = "Queries that fail"

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration

    def frame(self) -> pd.DataFrame:
        """Give one row per failing query, broken must flags first.

        Returns
        -------
        DataFrame
            query_id, kind, answerability, what, must_broken, only_noise (something was accepted, all of it judged
            wrong), best_relevant, best_relevant_rank, top_similarity, boundary, margin (of the floor over the best
            relevant similarity of a floor miss), n_accepted, first_accepted (the passage that ranks first among
            them); and text where known. Within a cause, near misses come first, and the surest of wrong answers.
        """
        queries = self.calibration.in_sample.queries
        what = [_what(row) for row in records(queries[["answerability", "probe", "n_accepted", "cause"]])]
        must = queries["must"]
        broken = ((must == "hit") & ~queries["hit"]) | ((must == "refuse") & (queries["n_accepted"] > 0))
        frame = queries.assign(
            what=pd.Series(what, index=queries.index, dtype="object"),
            must_broken=broken,
            only_noise=(queries["n_accepted"] > 0) & ~queries["hit"] & ~queries["accepted_unjudged"],
            margin=_margins(queries),
            first_accepted=pd.Series(
                [ids[0] if ids else None for ids in queries["accepted"]], index=queries.index, dtype="object"
            ),
        )
        frame = frame[frame["what"].notna() | frame["must_broken"]]
        frame = frame.assign(what=frame["what"].fillna(BROKEN))
        order = {name: place for place, name in enumerate(ORDER)}
        frame = frame.assign(_order=frame["what"].map(order).fillna(len(order)), _far=_distances(frame))
        frame = frame.sort_values(["must_broken", "_order", "_far"], ascending=[False, True, True], kind="stable")
        shown = frame[COLUMNS].reset_index(drop=True)
        texts = self.calibration.texts
        if texts:
            found = [texts.get(query_id) for query_id in shown["query_id"]]
            shown = shown.assign(text=pd.Series(found, index=shown.index, dtype="object"))
        return shown

    @property
    def caption(self) -> str:
        """How many queries fail, and of what."""
        frame = self.frame()
        if len(frame) == 0:
            return "No query fails: every answerable one keeps a relevant passage, and nothing else is answered."
        broken = int(frame["must_broken"].sum())
        counts = frame["what"].value_counts()
        parts = [f"{count} × {name}" for name, count in counts.items()]
        head = f"{counted(broken, 'must flag')} broken. " if broken else ""
        flags = " A must flag marks a query that has to hit, or has to be refused." if broken else ""
        return f"{head}{counted(len(frame), 'query fails', 'queries fail')}: {', '.join(parts)}.{flags}"

    def counts(self) -> pd.DataFrame:
        """Count failures by kind of query and cause."""
        frame = self.frame()
        table = pd.crosstab(frame["kind"], frame["what"])
        table = table[[name for name in [*ORDER, BROKEN] if name in table.columns]]
        return table.assign(all=table.sum(axis=1)).reset_index()

    def _tables(self) -> list[Markup]:
        frame = self.frame()
        if len(frame) == 0:
            return []
        # hundreds of probes would bury the user's own queries; NoiseDisplay names the highest of them
        own = frame[frame["what"] != PROBE_ANSWERED]
        probes = len(frame) - len(own)
        said = [f"The first {MOST} of {len(own)}."] if len(own) > MOST else []
        if probes:
            said.append(f"{counted(probes, 'answered probe query is', 'answered probe queries are')} not listed.")
        tables = [table_html(self.counts(), "Failures by kind and cause")]
        if len(own):
            queries = self.calibration.in_sample.queries["query_id"]
            places = {query_id: place for place, query_id in enumerate(queries)}
            tables.append(
                table_html(_rows(own.head(MOST), places, self.calibration.texts), self.title, note=" ".join(said))
            )
        return tables


def _margins(queries: pd.DataFrame) -> pd.Series:
    """Say how much a floor miss lacks; NaN for every other query."""
    lacks = queries["floor"].astype("float64") - queries["best_relevant"]
    return lacks.where(queries["cause"] == FLOOR_MISS)


def _distances(failing: pd.DataFrame) -> pd.Series:
    """Give what orders failing queries of one cause: what is lacking, the rank, or how sure a wrong answer is."""
    rank = failing["best_relevant_rank"].astype("Float64").astype("float64")
    misses = failing["margin"].where(failing["what"] == FLOOR_MISS, rank)
    return misses.where(failing["what"].isin([FLOOR_MISS, RANK_MISS]), -failing["top_similarity"])


def _rows(failing: pd.DataFrame, places: Mapping[str, int], texts: Mapping[str, str]) -> pd.DataFrame:
    """Set rows as they are read: flags as words under the cause, a rank under its similarity."""
    rows = records(failing)
    shown = [
        {
            # its place leads to it in the explorer
            "query": Cell(cell(row["query_id"]).text, False, query=places.get(row["query_id"])),
            "kind": row["kind"],
            "what happened": Cell(row["what"], False, ", ".join(word for name, word in FLAGS.items() if row[name])),
            "best relevant": _best(row["best_relevant"], row["best_relevant_rank"], row["margin"]),
            "top similarity": row["top_similarity"],
            "accepted": _accepted(row["n_accepted"], row["first_accepted"], texts),
            "text": row.get("text"),
        }
        for row in rows
    ]
    frame = pd.DataFrame(shown)
    return frame.drop(columns="text") if all(is_missing(value) for value in frame["text"]) else frame


def _best(similarity: object, rank: object, margin: object) -> Cell:
    if not isinstance(similarity, float) or is_missing(similarity):
        return Cell("–", False)
    said = [] if is_missing(rank) else [f"rank {rank}"]
    if isinstance(margin, float) and not is_missing(margin):
        said.append(f"lacks {short(margin)}")
    return Cell(short(similarity), True, ", ".join(said))


def _accepted(n: int, first: object, texts: Mapping[str, str]) -> Cell:
    """Say how many passages were accepted, and which ranks first; its text only where texts were asked for."""
    if n == 0 or first is None:
        return Cell("nothing" if n == 0 else f"{n}", False)
    passage = f"first: {shorten(first)}"
    text = texts.get(str(first))
    return Cell(f"{n}", False, passage if text is None else f"{passage}: {shorten(text, 120)}")


def _what(query: Mapping[str, Any]) -> str | None:
    if not is_missing(query["cause"]):
        return str(query["cause"])
    if query["n_accepted"] == 0:
        return None
    if query["probe"]:
        return PROBE_ANSWERED
    return {"off_topic": FALSE_ANSWER, "missing_answer": MISSING_ANSWERED}.get(query["answerability"])
