"""Which queries fail, and why: the first reason that applies."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from markupsafe import Markup

from ..studies.model import Calibration
from .base import TableDisplay
from .tables import Cell, table_html
from .texts import counted, is_missing, records, short

MOST = 200
BROKEN = "must flag broken"
FALSE_ANSWER = "off-topic but answered"
PROBE_ANSWERED = "probe but answered"
MISSING_ANSWERED = "answer missing but answered"
ONLY_WRONG = "only wrong passages"
ORDER = ["index miss", "rank miss", "floor miss", FALSE_ANSWER, MISSING_ANSWERED, PROBE_ANSWERED]


FLAGS = {"must_broken": BROKEN, "only_noise": "nothing relevant accepted", "boundary": "on the boundary"}
COLUMNS = [
    "query_id", "kind", "answerability", "what", "must_broken", "only_noise", "best_relevant", "best_relevant_rank",
    "top_similarity", "boundary",
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
            wrong), best_relevant, best_relevant_rank, top_similarity, boundary; and text where known.
        """
        queries = self.calibration.in_sample.queries
        what = [_what(row) for row in records(queries[["answerability", "probe", "n_accepted", "cause"]])]
        must = queries["must"]
        broken = ((must == "hit") & ~queries["hit"]) | ((must == "refuse") & (queries["n_accepted"] > 0))
        frame = queries.assign(
            what=pd.Series(what, index=queries.index, dtype="object"),
            must_broken=broken,
            only_noise=(queries["n_accepted"] > 0) & ~queries["hit"] & ~queries["accepted_unjudged"],
        )
        frame = frame[frame["what"].notna() | frame["must_broken"]]
        frame = frame.assign(what=frame["what"].fillna(BROKEN))
        order = {name: place for place, name in enumerate(ORDER)}
        frame = frame.assign(_order=frame["what"].map(order).fillna(len(order)))
        frame = frame.sort_values(
            ["must_broken", "_order", "top_similarity"], ascending=[False, True, False], kind="stable"
        )
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
        return f"{head}{counted(len(frame), 'query fails', 'queries fail')}: {', '.join(parts)}."

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
            tables.append(table_html(_rows(own.head(MOST)), self.title, note=" ".join(said)))
        return tables


def _rows(failing: pd.DataFrame) -> pd.DataFrame:
    """Set rows as they are read: flags as words, a rank beside its similarity."""
    rows = records(failing)
    shown = [
        {
            "query": row["query_id"],
            "kind": row["kind"],
            "what happened": row["what"],
            "best relevant": _best(row["best_relevant"], row["best_relevant_rank"]),
            "top similarity": row["top_similarity"],
            "note": ", ".join(word for name, word in FLAGS.items() if row[name]),
            "text": row.get("text"),
        }
        for row in rows
    ]
    frame = pd.DataFrame(shown)
    empty = [name for name in ("note", "text") if all(is_missing(value) or value == "" for value in frame[name])]
    return frame.drop(columns=empty)


def _best(similarity: object, rank: object) -> Cell:
    if not isinstance(similarity, float) or is_missing(similarity):
        return Cell("–", False)
    return Cell(short(similarity), True, "" if is_missing(rank) else f"rank {rank}")


def _what(query: Mapping[str, Any]) -> str | None:
    if not is_missing(query["cause"]):
        return str(query["cause"])
    if query["n_accepted"] == 0:
        return None
    if query["probe"]:
        return PROBE_ANSWERED
    return {"off_topic": FALSE_ANSWER, "missing_answer": MISSING_ANSWERED}.get(query["answerability"])
