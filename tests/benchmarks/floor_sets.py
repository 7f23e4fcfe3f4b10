"""Real score bands for the benchmark: one value per answerable query and one per off-topic query, with groups."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from calibration.embed import VectorCache, open_embedder, read_vectors
from calibration.labels import Labels, detect_languages, read_labels, read_probes
from calibration.studies.inputs import passage_texts

Floats = npt.NDArray[np.float64]
Names = npt.NDArray[np.str_]
ENOUGH_OFF_TOPIC = 20
TRANSLATIONS = re.compile(r"-(de|en)$")
"""Question ids of one need in two languages end so."""


@dataclass(frozen=True)
class Bands:
    """Best relevant similarity per answerable query, and best match per off-topic query, of one set under one model."""

    name: str
    relevant: Floats
    relevant_groups: Names
    noise: Floats
    noise_groups: Names

    def auc(self) -> float:
        """Share of pairs in which the answer scores above the noise; ties count half."""
        noise = np.sort(self.noise)
        below = np.searchsorted(noise, self.relevant, "left") + np.searchsorted(noise, self.relevant, "right")
        return float(below.mean()) / 2.0 / len(noise)


@dataclass(frozen=True)
class Split:
    """What a rule may see, and what it is judged on."""

    relevant: Floats
    noise: Floats
    held_relevant: Floats
    held_noise: Floats


def bands_of_texts(folder: Path, model: str, cache: VectorCache) -> Bands:
    """Embed a set; off-topic are its own labelled queries where there are twenty, else the probes in its languages."""
    labels = _read(folder)
    passages, vectors = _embedded(labels, model, cache)
    queries = labels.queries["query_id"].tolist()
    relevant, groups = _best_relevant(labels, queries, _corpus_ids(labels), vectors @ passages.T)
    noise, far = _far(labels, model, cache, passages, vectors)
    return Bands(f"{folder.name}@{model}", relevant, groups, noise.max(axis=1), far)


def far_similarities(folder: Path, model: str, cache: VectorCache) -> Floats:
    """Similarity of every off-topic query to every passage, shape (queries, passages)."""
    labels = _read(folder)
    passages, vectors = _embedded(labels, model, cache)
    return _far(labels, model, cache, passages, vectors)[0]


def _read(folder: Path) -> Labels:
    labels = read_labels(folder, rel_level=1, allow_dangling=True)
    if labels.corpus is None:
        raise SystemExit(f"{folder.name} has no corpus")
    return labels


def _corpus_ids(labels: Labels) -> list[str]:
    return [] if labels.corpus is None else labels.corpus["doc_id"].tolist()


def _embedded(labels: Labels, model: str, cache: VectorCache) -> tuple[Floats, Floats]:
    """Unit vectors of passages and queries."""
    embedder = open_embedder(model)
    passages = _unit(cache.embed(embedder, passage_texts(labels), "passage"))
    return passages, _unit(cache.embed(embedder, labels.queries["text"].tolist(), "query"))


def _far(labels: Labels, model: str, cache: VectorCache, passages: Floats, vectors: Floats) -> tuple[Floats, Names]:
    """Similarities of labelled off-topic queries where there are enough, else of the probes, and the queries' names."""
    queries = labels.queries
    off_topic = (queries["answerability"] == "off_topic").to_numpy()
    if off_topic.sum() >= ENOUGH_OFF_TOPIC:
        return vectors[off_topic] @ passages.T, queries["query_id"].to_numpy(dtype=np.str_)[off_topic]
    probes = read_probes(languages=detect_languages(queries["text"].tolist()))
    probed = _unit(cache.embed(open_embedder(model), probes["text"].tolist(), "query"))
    return probed @ passages.T, probes["query_id"].to_numpy(dtype=np.str_)


def bands_of_vectors(folder: Path) -> Bands:
    """Read a set with vectors; noise are passages of another project (the id before "/"), else those not relevant."""
    labels = read_labels(folder, rel_level=1, allow_dangling=True)
    file = read_vectors(folder / "vectors.npz")
    if file.query_ids is None or file.doc_ids is None or file.query_vectors is None or file.doc_vectors is None:
        raise SystemExit(f"{folder.name} has half of the vectors only")
    similarity = _unit(file.query_vectors) @ _unit(file.doc_vectors).T
    relevant, groups = _best_relevant(labels, file.query_ids, file.doc_ids, similarity)
    if all("/" in name for name in file.doc_ids):
        own = _projects(file.query_ids)[:, None] == _projects(file.doc_ids)[None, :]
    else:
        pairs = set(labels.relevant_pairs().itertuples(index=False, name=None))
        own = np.array([[(query, doc) in pairs for doc in file.doc_ids] for query in file.query_ids])
    noise = np.where(own, -np.inf, similarity).max(axis=1)
    return Bands(f"{folder.name}@vectors", relevant, groups, noise, np.array(file.query_ids, dtype=np.str_))


def splits(bands: Bands, n: int, n_noise: int, count: int, seed: int) -> Iterator[Split]:
    """Draw whole groups until `n` answerable queries and `n_noise` off-topic ones (at most half) may be seen."""
    rng = np.random.default_rng([seed, n])
    names = np.unique(np.concatenate([bands.relevant_groups, bands.noise_groups]))
    shared = bool(np.isin(bands.noise_groups, bands.relevant_groups).any())
    for _ in range(count):
        order = rng.permutation(names)
        seen = _first(order, bands.relevant_groups, n)
        # a query in both bands is seen or held out as a whole, as far as the two numbers allow
        far = _first(
            order if shared else rng.permutation(names), bands.noise_groups, min(n_noise, len(bands.noise) // 2)
        )
        yield Split(bands.relevant[seen], bands.noise[far], bands.relevant[~seen], bands.noise[~far])


def _first(order: Names, groups: Names, wanted: int) -> npt.NDArray[np.bool_]:
    """Mark the queries of the first groups that together hold `wanted` queries."""
    place = {name: at for at, name in enumerate(order.tolist())}
    rank = np.array([place[name] for name in groups.tolist()])
    limit = np.sort(rank)[min(wanted, len(rank)) - 1]
    seen: npt.NDArray[np.bool_] = rank <= limit
    return seen


def _best_relevant(
    labels: Labels, query_ids: Sequence[str], doc_ids: Sequence[str], similarity: Floats
) -> tuple[Floats, Names]:
    rows = {name: at for at, name in enumerate(query_ids)}
    columns = {name: at for at, name in enumerate(doc_ids)}
    best: dict[str, float] = {}
    for query, doc in labels.relevant_pairs().itertuples(index=False, name=None):
        if query in rows and doc in columns:
            best[query] = max(best.get(query, -np.inf), float(similarity[rows[query], columns[doc]]))
    return np.array(list(best.values())), np.array([TRANSLATIONS.sub("", query) for query in best], dtype=np.str_)


def _projects(names: Sequence[str]) -> Names:
    return np.array([name.split("/")[0] for name in names], dtype=np.str_)


def _unit(vectors: npt.ArrayLike) -> Floats:
    array = np.asarray(vectors, dtype=np.float64)
    unit: Floats = array / np.linalg.norm(array, axis=1, keepdims=True)
    return unit
