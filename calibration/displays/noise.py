"""The far-noise queries that come closest, to ask whether they are off-topic here."""

import json
from collections.abc import Mapping
from functools import cache

import numpy as np
import pandas as pd
from markupsafe import Markup

from ..resources import bundled
from ..studies.model import Calibration
from .base import TableDisplay
from .tables import folded, table_html
from .texts import exact

HIGHEST = 15


class NoiseDisplay(TableDisplay):
    """The highest far-noise queries; strike the subjects the corpus is about."""

    title = "Highest far-noise queries"

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration

    def frame(self) -> pd.DataFrame:
        """Return query_id, subject, similarity, doc_id, accepted, and text where it may be shown; highest first."""
        found = self.calibration
        band = found.bands["far_noise"]
        order = [
            int(i) for i in np.argsort(-band.similarity, kind="stable")[:HIGHEST] if np.isfinite(band.similarity[i])
        ]
        ids = [str(band.query_ids[i]) for i in order]
        subjects = _subjects(found.facts)
        frame = pd.DataFrame(
            {
                "query_id": pd.Series(ids, dtype="str"),
                "subject": pd.Series([subjects.get(query_id) for query_id in ids], dtype="object"),
                "similarity": band.similarity[order],
                "doc_id": pd.Series([band.doc_ids[i] for i in order], dtype="object"),
            }
        )
        if found.floor is not None:
            frame["accepted"] = found.scores.contract.accept(frame["similarity"], found.floor)
        texts = self._texts()
        if any(query_id in texts for query_id in ids):
            frame["text"] = pd.Series([texts.get(query_id) for query_id in ids], dtype="object")
        return frame

    @property
    def caption(self) -> str:
        """What to do with the list."""
        band = self.calibration.bands["far_noise"]
        if len(band.scored) == 0:
            return "No far noise was scored."
        floor = self.calibration.floor
        passed = ""
        if floor is not None:
            n = int(self.calibration.scores.contract.accept(band.scored, floor).sum())
            passed = f" {n} of {len(band.scored)} pass the floor {exact(floor)}."
        return (
            f"Far noise is the best match of every question that has nothing to do with the corpus, here "
            f"{self.calibration.bands.far_noise_source}.{passed} Look at the closest: where your corpus is about their "
            "subject, they are answers, not noise; strike them and run again."
        )

    def _texts(self) -> Mapping[str, str]:
        """Texts that may be shown: the user's only when asked for, the bundled probes' always."""
        probes = self.calibration.table.loc[self.calibration.table["probe"], "query_id"]
        ours = _bundled_texts() if self.calibration.params.probes_file is None else {}
        return {**{query_id: ours[query_id] for query_id in probes if query_id in ours}, **self.calibration.texts}

    def _tables(self) -> list[Markup]:
        frame = self.frame()
        if frame["subject"].isna().all():
            frame = frame.drop(columns=["subject"])
        headers = {"query_id": "query", "doc_id": "closest passage", "accepted": "passes the floor"}
        title = f"The {len(frame)} closest"
        return [folded(title, table_html(frame, self.title, headers=headers))] if len(frame) else []


def _subjects(facts: Mapping[str, object]) -> Mapping[str, str]:
    probes = facts.get("probes")
    subjects = probes.get("subjects") if isinstance(probes, Mapping) else None
    return subjects if isinstance(subjects, Mapping) else {}


@cache
def _bundled_texts() -> dict[str, str]:
    try:
        lines = (bundled("data") / "probes.jsonl").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    rows = [json.loads(line) for line in lines if line.strip()]
    return {row["query_id"]: row["text"] for row in rows}
