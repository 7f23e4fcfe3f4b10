"""What an old floor does to new scores as a whole."""

import pandas as pd

from ..contract import ScoreContract


def carried_verdict(before: pd.DataFrame, now: pd.DataFrame, floor: float | None, contract: ScoreContract) -> str:
    """Say when a floor lies above every score of today, and did not before; empty otherwise.

    Parameters
    ----------
    before, now : DataFrame
        As of `drift.frozen`.
    """
    top = now["top_similarity"].astype("float64").max()
    if floor is None or pd.isna(top):
        return ""
    if not contract.accept([top], floor)[0] and any(len(docs) for docs in before["accepted"]):
        return f"floor {floor:.4g} is above the highest observed score {top:.4g}"
    return ""
