"""What becomes of the relevant passages of each grade at the recommended floor and cap."""

import numpy as np
import pandas as pd

from ..labels import Labels
from ..scores import Scores

KEPT, BEYOND, BELOW, UNSCORED = "kept", "beyond K", "below the floor", "never a candidate"
FATES = (KEPT, BEYOND, BELOW, UNSCORED)
"""Beyond K are passages at or above the floor: a longer context would keep them, a lower floor would not."""


def passages_by_grade(
    scores: Scores, labels: Labels, table: pd.DataFrame, floor: float | None, top_k: int
) -> pd.DataFrame:
    """Tell of every judged passage above grade 0 whether it is kept.

    Returns
    -------
    DataFrame
        grade, similarity (NaN = not scored), fate (one of `FATES`).
    """
    known = set(table.loc[~table["probe"], "query_id"])
    judged = scores.judged
    rows = judged[(judged["relevance"] > 0) & judged["query_id"].isin(known)]
    above = scores.contract.accept(rows["similarity"], floor)
    within = (rows["rank"].astype("float64") <= top_k).to_numpy(dtype=bool)
    fate = np.select([rows["similarity"].isna().to_numpy(), ~above, ~within], [UNSCORED, BELOW, BEYOND], KEPT)
    return pd.DataFrame(
        {
            "grade": rows["relevance"].to_numpy(dtype=np.int64),
            "similarity": rows["similarity"].to_numpy(dtype=np.float64),
            "fate": pd.Series(fate, dtype="str"),
        }
    )


def grade_counts(passages: pd.DataFrame) -> pd.DataFrame:
    """Count the fates of each grade, the highest first: grade, n, and a column per fate."""
    counts = pd.crosstab(passages["grade"], passages["fate"]).reindex(columns=list(FATES), fill_value=0)
    frame = counts.sort_index(ascending=False).reset_index()
    frame.columns.name = None
    frame.insert(1, "n", frame[list(FATES)].sum(axis=1))
    return frame.astype("int64")
