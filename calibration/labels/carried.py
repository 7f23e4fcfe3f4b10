"""What became of every judgement when labels were carried to a new corpus."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from ..errors import listed
from .match import ALL, ALONE, FATES, FOUND, SUBSTANTIAL
from .model import Labels
from .tables import counted, enumerated

FATE_COLUMNS = (
    "query_id",
    "doc_id",
    "relevance",
    "fate",
    "carried_to",
    "found",
    "overruled",
    "review",
    "reason",
    "nearest",
)

MEANING = {
    "kept": "same id, same text",
    "moved": "one passage of much the same text, under another id or edited",
    "merged": "inside a larger passage",
    "split": "spread over several passages; those with a substantial share take it",
    "diluted": "grade 0, inside a passage that is mostly unjudged text: left unjudged",
    "orphaned": "content not found, or in too many pieces: left out, never a miss",
}


@dataclass(frozen=True, eq=False)
class Carried:
    """Labels on the new corpus, and how each judgement came there.

    Attributes
    ----------
    labels : Labels
        Queries, carried judgements and the new corpus.
    fates : DataFrame
        One row a judgement, in its old order: query_id, doc_id (the old one), relevance, fate, carried_to (tuple of new
        ids), found (share of the judged content that these hold, 0 to 1), overruled (a higher grade stands there),
        review (why a person should look, or ""), reason (why it is orphaned, or ""), nearest (new id that holds most of
        it, for orphans).
    bereft : tuple of str
        Queries that lost all their relevant judgements, now unknown.
    """

    labels: Labels
    fates: pd.DataFrame
    bereft: tuple[str, ...] = ()

    @property
    def carried(self) -> int:
        """Judgements that stand on at least one new passage."""
        return int(self.fates["carried_to"].map(len).gt(0).sum())

    def counts(self) -> dict[str, int]:
        """Count judgements by fate; every fate is a key."""
        found = self.fates["fate"].value_counts()
        return {fate: int(found.get(fate, 0)) for fate in FATES}

    def of_fate(self, fate: str) -> pd.DataFrame:
        """Return the judgements of one fate, such as "orphaned"."""
        return self.fates[self.fates["fate"] == fate].reset_index(drop=True)

    def to_review(self) -> pd.DataFrame:
        """Return the judgements a person should look at."""
        return self.fates[self.fates["review"] != ""].reset_index(drop=True)

    def words(self) -> str:
        """Say the counts, and name the first orphans; `fates` has them all."""
        total = len(self.fates)
        lines = [f"{self.carried} of {counted(total, 'judgement')} carried to {len(self.labels.qrels)} on new passages"]
        lines += [f"  {count:5d} {fate}: {MEANING[fate]}" for fate, count in self.counts().items()]
        overruled = int(self.fates["overruled"].sum())
        if overruled:
            lines.append(f"{overruled} met a higher grade of their query in one new passage; the higher grade stands")
        review = len(self.to_review())
        if review:
            lines.append(f"{review} relevant ones to look at: which part answers, or what an edit took away")
        if self.bereft:
            lost = counted(len(self.bereft), "query", "queries")
            lines.append(f"{lost} without a relevant judgement left, now unknown: {enumerated(self.bereft)}")
        orphans = self.of_fate("orphaned")
        if len(orphans):
            lines += ["orphaned:", listed([_orphan(row) for row in orphans.to_dict("records")])]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: counts, thresholds, and every judgement's fate."""
        rows = self.fates.astype(object).where(self.fates.notna(), None).to_dict("records")
        return {
            "judgements": len(self.fates),
            "carried": self.carried,
            "carried_to": len(self.labels.qrels),
            "fates": self.counts(),
            "overruled": int(self.fates["overruled"].sum()),
            "to_review": len(self.to_review()),
            "queries_without_relevant": list(self.bereft),
            "thresholds": {"found": FOUND, "substantial": SUBSTANTIAL, "all": ALL, "alone": ALONE},
            "rows": [{**row, "carried_to": list(row["carried_to"])} for row in rows],
        }


def _orphan(row: dict[Any, Any]) -> str:
    near = f"; nearest {row['nearest']}" if isinstance(row["nearest"], str) else ""
    return f"{row['query_id']}/{row['doc_id']} (grade {row['relevance']}): {row['reason']}{near}"
