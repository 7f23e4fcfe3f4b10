"""Any server that speaks the OpenAI embeddings API, through the official client."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict
from urllib.parse import urlsplit

import numpy as np

from ..errors import EmbeddingError, ParameterError, listed
from .model import Batch, BatchingEmbedder, Role
from .openai_reply import vectors_of_reply

if TYPE_CHECKING:
    from openai import OpenAI

DEFAULT_URL = "https://api.openai.com/v1"
MAX_TEXTS = 2048
MAX_TOKENS = 300_000


class Limits(TypedDict, total=False):
    """What may be asked of one server at once, and how patiently; see `OpenAIEmbedder`."""

    max_batch_texts: int
    max_batch_tokens: int
    max_retries: int
    timeout: float


class OpenAIEmbedder(BatchingEmbedder):
    """A model behind an OpenAI-compatible server; the key is read from OPENAI_API_KEY when needed and never kept.

    Parameters
    ----------
    max_batch_texts, max_batch_tokens : int
        Limits of one request. Tokens are over-estimated by the number of UTF-8 bytes, since a byte-level tokenizer
        never makes more tokens than bytes; a text that is longer by itself is sent alone.
    max_retries, timeout : int, float
        The client's own: retries of 408, 409, 429, 5xx and dropped connections, with its backoff; seconds a request.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        dimensions: int | None = None,
        query_prefix: str = "",
        passage_prefix: str = "",
        extra_body: Mapping[Role, Mapping[str, object]] | None = None,
        max_batch_texts: int = MAX_TEXTS,
        max_batch_tokens: int = MAX_TOKENS,
        max_retries: int = 6,
        timeout: float = 60.0,
    ) -> None:
        super().__init__(f"openai:{model}")
        limits = {
            "dimensions": 1 if dimensions is None else dimensions,
            "max_batch_texts": max_batch_texts,
            "max_batch_tokens": max_batch_tokens,
        }
        low = [f"{name} is {value}, expected 1 or more" for name, value in limits.items() if value < 1]
        if not model.strip():
            low.append("the model's name after 'openai:' is missing")
        if low:
            raise ParameterError(f"cannot open this model:\n{listed(low)}")
        self.query_prefix, self.passage_prefix = query_prefix, passage_prefix
        self._model = model
        self._url = _checked_url(base_url or os.environ.get("OPENAI_BASE_URL") or DEFAULT_URL)
        self._asked = dimensions
        self._width: int | None = dimensions
        self._extra_body = extra_body or {}
        self._max_texts, self._max_tokens = max_batch_texts, max_batch_tokens
        self._max_retries, self._timeout = max_retries, timeout
        if self._url == DEFAULT_URL and not _key():
            raise EmbeddingError(
                f"OPENAI_API_KEY is not set, and {_host(self._url)} needs it. Set it in the environment, or give the "
                "base URL of a server that needs none."
            )

    @property
    def width(self) -> int | None:
        """Dimensions of the vectors; None until the server has sent some or unless a number was asked for."""
        return self._width

    def facts(self) -> Mapping[str, str | int | float]:
        """Name the server's host, and say that long texts are its business."""
        return {"server": _host(self._url), "long_texts": "refused or handled by the server"}

    def _batches(self, texts: Sequence[str], role: Role, labels: Sequence[str]) -> Iterator[Batch]:
        prefix = self._prefix(role)
        sent = [prefix + text for text in texts]
        plan = plan_batches([len(text.encode()) for text in sent], self._max_texts, self._max_tokens)
        if not plan:
            return
        with self._client() as client:
            for done, part in enumerate(plan):
                chosen = slice(part.start, part.stop)
                reply, failure = self._request(client, sent[chosen], role, labels[chosen])
                if failure is not None:
                    raise EmbeddingError(
                        f"embedded {done} of {len(plan)} batches ({part.start} of {len(sent)} texts): {failure}"
                    )
                try:
                    vectors = vectors_of_reply(reply, labels[chosen], self._width, asked=self._asked is not None)
                except EmbeddingError as error:
                    raise EmbeddingError(f"embedded {done} of {len(plan)} batches: {error}") from None
                self._width = vectors.shape[1]
                yield Batch(part.start, vectors, np.zeros(len(vectors), dtype=np.bool_))

    def _client(self) -> "OpenAI":
        from openai import DefaultHttpxClient, OpenAI

        loopback = _is_loopback(self._url)  # a proxy from the environment is for the outside only
        return OpenAI(
            api_key=_key() or "none",
            base_url=self._url,
            max_retries=self._max_retries,
            timeout=self._timeout,
            http_client=DefaultHttpxClient(trust_env=not loopback),
        )

    def _request(self, client: "OpenAI", texts: list[str], role: Role, labels: Sequence[str]) -> tuple[Any, str | None]:
        """Send one batch; a failure comes back as words, so that no request with its key hangs on the error raised."""
        import openai

        try:
            reply: Any = client.embeddings.create(
                model=self._model,
                input=texts,
                dimensions=openai.omit if self._asked is None else self._asked,
                encoding_format="base64",
                extra_body=self._extra_body.get(role),
            )
        except openai.APIStatusError as error:
            return None, self._explain(error.status_code, _server_words(error), texts, labels)
        except openai.APITimeoutError:
            return None, f"no answer from {_host(self._url)} within {self._timeout:g} s, {self._max_retries} retries."
        except openai.APIConnectionError as error:
            cause = type(error.__cause__).__name__ if error.__cause__ else "no connection"
            return None, f"no connection to {_host(self._url)} ({cause}), {self._max_retries} retries. Is it running?"
        except (openai.OpenAIError, ValueError) as error:
            return None, f"{_host(self._url)} sent something that is no reply ({type(error).__name__})."
        return reply, None

    def _explain(self, status: int, words: str, texts: Sequence[str], labels: Sequence[str]) -> str:
        where = f"{_host(self._url)} answered {status}"
        if status in (401, 403):  # its words may repeat part of the key
            return f"{where}: the key is missing or not accepted. Set OPENAI_API_KEY in the environment."
        if status == 404:
            return f"{where}: {words} Check the model's name ({self._model!r}) and the base URL."
        if status == 429:
            return f"{where} (rate limit or quota) after {self._max_retries} retries: {words} Wait, then run again."
        if status in (400, 413, 422):
            longest = sorted(range(len(texts)), key=lambda row: -len(texts[row]))[:3]
            shown = ", ".join(f"{labels[row]} ({len(texts[row]):,} characters)" for row in longest)
            return (
                f"{where}: {words} Nothing was cut. The longest texts of this batch: {shown}. "
                "Split or shorten them if they are too long."
            )
        return f"{where} after {self._max_retries} retries: {words}"


def plan_batches(sizes: Sequence[int], max_texts: int, max_tokens: int) -> list[range]:
    """Cut inputs of given token sizes into consecutive batches within both limits; an oversized one goes alone.

    Examples
    --------
    >>> plan_batches([4, 4, 4, 20, 1], max_texts=2, max_tokens=10)
    [range(0, 2), range(2, 3), range(3, 4), range(4, 5)]
    """
    plan, start, total = [], 0, 0
    for index, size in enumerate(sizes):
        if index > start and (index - start == max_texts or total + size > max_tokens):
            plan.append(range(start, index))
            start, total = index, 0
        total += size
    return [*plan, range(start, len(sizes))] if len(sizes) else []


def _key() -> str:
    return os.environ.get("OPENAI_API_KEY", "").strip()


def _checked_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ParameterError("the base URL of the embedding server must start with http:// or https:// and a host.")
    return url.rstrip("/")


def _host(url: str) -> str:
    """Host and port only: a URL may carry a password or a token.

    Examples
    --------
    >>> _host("http://user:secret@127.0.0.1:8000/v1?token=x")
    '127.0.0.1:8000'
    """
    return urlsplit(url).netloc.rpartition("@")[2]


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def _server_words(error: Any) -> str:
    """Quote the server, shortened and without the key."""
    body = error.body if isinstance(error.body, dict) else {}
    words = " ".join(str(body.get("message") or error.message).split())
    key = _key()
    if key:
        words = words.replace(key, "[key]")
    return words[:300].rstrip(".") + "."
