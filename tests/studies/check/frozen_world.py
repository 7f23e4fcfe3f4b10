"""A live system of a few vectors: labels in a folder, vectors in a file, a baseline frozen on them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from calibration import parameters
from calibration.params import RunParams
from calibration.result import save
from calibration.studies.calibrate import calibrate
from calibration.studies.check.baseline import Baseline, read_baseline
from calibration.studies.check.study import Check

WIDTH = 24
Vectors = np.ndarray


@dataclass(frozen=True)
class World:
    """Answerable queries a0…, off-topic o0…; every answerable one has one relevant passage."""

    folder: Path
    must: dict[str, str]
    queries: dict[str, Vectors]
    passages: dict[str, Vectors]

    @classmethod
    def made(
        cls, folder: Path, *, answerable: int = 60, off_topic: int = 40, must: dict[str, str] | None = None
    ) -> "World":
        """Draw the vectors."""
        rng = np.random.default_rng(1)
        subject = _unit(rng.normal(size=WIDTH))
        queries, passages = {}, {}
        for i in range(answerable):
            queries[f"a{i}"] = _unit(subject + 0.9 * _unit(rng.normal(size=WIDTH)))
            passages[f"d{i}"] = _unit(queries[f"a{i}"] + 0.6 * _unit(rng.normal(size=WIDTH)))
        for i in range(off_topic):
            queries[f"o{i}"] = _unit(rng.normal(size=WIDTH))
        folder.mkdir(parents=True)
        return cls(folder, must or {}, queries, passages)

    def write(self, vectors: str = "vectors.npz") -> RunParams:
        """Write labels and vectors; give the parameters of the live system."""
        labels = self.folder / "labels"
        labels.mkdir(exist_ok=True)
        rows = [
            {
                "query_id": name, "text": f"text of {name}", "must": self.must.get(name, "-"),
                "answerability": "answerable" if name.startswith("a") else "off_topic",
            }
            for name in self.queries
        ]  # fmt: skip
        (labels / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        judged = [f"{name}\td{name[1:]}\t1" for name in self.queries if name.startswith("a")]
        (labels / "qrels.tsv").write_text("\n".join(["query_id\tdoc_id\trelevance", *judged]) + "\n", encoding="utf-8")
        np.savez(
            self.folder / vectors,
            query_ids=list(self.queries),
            query_vectors=np.array(list(self.queries.values()), dtype=np.float32),
            doc_ids=list(self.passages),
            doc_vectors=np.array(list(self.passages.values()), dtype=np.float32).reshape(-1, WIDTH),
        )
        return self.params(vectors=vectors)

    def params(self, *, vectors: str = "vectors.npz", **more: Any) -> RunParams:
        """The live system as it is written."""
        values: Mapping[str, Any] = {
            "labels": str(self.folder / "labels"),
            "vectors": str(self.folder / vectors),
            "allow_dangling": True,
            **more,
        }
        return parameters(values)

    def freeze(self, name: str = "baseline") -> Baseline:
        """Calibrate on what is written and keep the result as a baseline."""
        save(calibrate(self.write()), self.folder / name)
        return self.frozen(name)

    def frozen(self, name: str = "baseline") -> Baseline:
        """The baseline that was kept."""
        return read_baseline(self.folder / name)

    def hide(self, *numbers: int) -> None:
        """Turn passages away from their queries, as a bad change of chunking would."""
        rng = np.random.default_rng(99)
        for i in numbers:
            self.passages[f"d{i}"] = _unit(-self.queries[f"a{i}"] + 0.1 * _unit(rng.normal(size=WIDTH)))

    def distract(self, share: float) -> None:
        """Add passages about anything, as a share of what is there."""
        rng = np.random.default_rng(7)
        already = sum(name.startswith("x") for name in self.passages)
        for i in range(round(share * 60)):
            self.passages[f"x{already + i}"] = _unit(rng.normal(size=WIDTH))

    def turn(self, seed: int = 3) -> None:
        """Another model of the same width: every vector, of queries and passages, in another space with other noise."""
        rng = np.random.default_rng(seed)
        rotation = np.linalg.qr(rng.normal(size=(WIDTH, WIDTH)))[0]
        drift = _unit(rng.normal(size=WIDTH))
        for table in (self.queries, self.passages):
            for name, vector in table.items():
                table[name] = _unit(rotation @ vector + 1.5 * drift)


def _unit(vector: Vectors) -> Vectors:
    return vector / np.linalg.norm(vector)


def rate(check: Check, name: str) -> Any:
    """One rate of a check, by its name."""
    return next(one for one in check.rates if one.measure.name == name)


def files(folder: Path) -> dict[str, bytes]:
    """Contents of a folder by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}
