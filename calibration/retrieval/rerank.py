"""Rerankers: a score of each query with each candidate's text, on a scale of its own with a floor of its own."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..contract import ScoreContract
from ..errors import EmbeddingError, ParameterError, listed
from .candidates import Candidates

Floats = npt.NDArray[np.float64]
Progress = Callable[[int], None]
"""Called with the number of pairs just scored."""

KEY = "RERANK_API_KEY"
MAX_DOCUMENTS = 1000
_SECRET = re.compile(r"[&;][^=&]*(key|token|secret|passw|signature|sig|auth|credential)[^=&]*=", re.IGNORECASE)


class Reranker(Protocol):
    """Something that scores a query with a passage by reading both.

    Attributes
    ----------
    name : str
    contract : ScoreContract
        Of its scores: never a similarity's, and a floor on them is calibrated on them.
    """

    name: str
    contract: ScoreContract

    def score(self, queries: Sequence[str], passages: Sequence[str], progress: Progress | None = None) -> Floats:
        """Score pairs, the i-th query with the i-th passage; higher is better."""
        ...


class LateInteraction:
    """Late interaction offline: the token vectors of MiniLM, each query token with its nearest passage token.

    The score is the mean of those cosines, so it lies in [-1, 1]; it is no cosine of two texts and knows no floor made
    for one. The model was trained for one vector a text, not for this: measure before you use it.
    """

    name = "minilm late interaction"

    def __init__(self) -> None:
        from ..embed.registry import MODELS

        self._spec = MODELS["minilm"]
        self._tokens: Callable[[str], npt.NDArray[np.float32]] | None = None
        self.contract = ScoreContract("maxsim", normalisation="none", embedding_version=self.name)

    def score(self, queries: Sequence[str], passages: Sequence[str], progress: Progress | None = None) -> Floats:
        """Score pairs; every text is read once, and a passage's tokens are forgotten when its pairs are done."""
        asked = {text: self._unit_tokens(text) for text in dict.fromkeys(queries)}
        scores = np.full(len(passages), np.nan)
        for passage, rows in pd.Series(range(len(passages))).groupby(list(passages), sort=False):
            tokens = self._unit_tokens(str(passage))
            for row in rows:
                scores[row] = _nearest(asked[queries[row]], tokens)
            if progress is not None:
                progress(len(rows))
        return scores

    def _unit_tokens(self, text: str) -> npt.NDArray[np.float32]:
        if self._tokens is None:
            from ..embed.local import check_packages, checked_files, load_minilm_tokens

            check_packages(self._spec)
            self._tokens = load_minilm_tokens(checked_files(self._spec))
        vectors = self._tokens(text)
        unit: npt.NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit


def _nearest(query: npt.NDArray[np.float32], passage: npt.NDArray[np.float32]) -> float:
    return float((query @ passage.T).max(axis=1).mean(dtype=np.float64))


def checked_address(url: str) -> str:
    """Give the address of a rerank endpoint back; one that holds a secret would carry it into notebooks and logs.

    Raises
    ------
    ParameterError
        No http(s) address, or one with a user, a password or a key.

    Examples
    --------
    >>> checked_address("http://127.0.0.1:8080/rerank?raw_scores=true")
    'http://127.0.0.1:8080/rerank?raw_scores=true'
    """
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise ParameterError("a reranker needs an address that starts with http:// or https:// and a host.")
    if "@" in parts.netloc or _SECRET.search("&" + parts.query):
        raise ParameterError(
            "the address of the reranker must not carry a password or a key, which notebooks and reports would show. "
            f"Put it into {KEY}, which is sent as a bearer token."
        )
    return url


class HttpReranker:
    """Any HTTP endpoint that takes a query with documents and answers with a score for each.

    The request holds `query`, `documents` and, where given, `model`; the answer is `results` (or a bare list) of
    `index` and `relevance_score` (or `score`), in any order. The key is read from RERANK_API_KEY when needed.

    Parameters
    ----------
    url : str
        The whole address, such as https://host/v1/rerank.
    documents : str
        What the endpoint calls the texts: "documents", or "texts".
    metric : str
        What the scores are: "vendor_relevance" by default, "reranker_logit" where it sends logits.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str | None = None,
        documents: str = "documents",
        metric: str = "vendor_relevance",
        max_retries: int = 4,
        timeout: float = 60.0,
    ) -> None:
        self.name = model or urlsplit(checked_address(url)).netloc
        self.contract = ScoreContract(metric, normalisation="none", embedding_version=self.name)
        self._url, self._model, self._documents = url, model, documents
        self._max_retries, self._timeout = max_retries, timeout

    def score(self, queries: Sequence[str], passages: Sequence[str], progress: Progress | None = None) -> Floats:
        """Score pairs, one request a query (more for over a thousand passages).

        Raises
        ------
        EmbeddingError
            The server cannot be reached, refuses, or leaves out, repeats or invents a passage. No part is used.
        """
        scores = np.full(len(passages), np.nan)
        with self._client() as client:
            for query, found in pd.Series(range(len(passages))).groupby(list(queries), sort=False):
                rows = found.to_numpy()
                for start in range(0, len(rows), MAX_DOCUMENTS):
                    part = rows[start : start + MAX_DOCUMENTS]
                    answer = self._ask(client, str(query), [passages[row] for row in part])
                    scores[part] = scores_of_answer(answer, len(part), self._host)
                if progress is not None:
                    progress(len(rows))
        return scores

    @property
    def _host(self) -> str:
        return urlsplit(self._url).netloc

    def _client(self) -> Any:
        from openai import DefaultHttpxClient, OpenAI

        # the embeddings' client: its retries, backoff and time limits; the address is given with each request
        host = urlsplit(self._url).hostname or ""
        loopback = host in ("localhost", "::1") or host.startswith("127.")
        return OpenAI(
            api_key=os.environ.get(KEY, "").strip() or "none",
            base_url=self._url,
            max_retries=self._max_retries,
            timeout=self._timeout,
            http_client=DefaultHttpxClient(trust_env=not loopback),
        )

    def _ask(self, client: Any, query: str, passages: list[str]) -> object:
        import openai

        body: dict[str, object] = {"query": query, self._documents: passages}
        if self._model is not None:
            body["model"] = self._model
        try:
            answer: object = client.post(self._url, body=body, cast_to=object)
        except openai.APIStatusError as error:
            hint = f" Set {KEY} in the environment." if error.status_code in (401, 403) else ""
            failure = f"answered {error.status_code}.{hint}"
        except openai.APITimeoutError:
            failure = f"gave no answer within {self._timeout:g} s, {self._max_retries} retries."
        except openai.APIConnectionError as error:
            cause = type(error.__cause__).__name__ if error.__cause__ else "no connection"
            failure = f"cannot be reached ({cause}), {self._max_retries} retries. Is it running?"
        except (openai.OpenAIError, ValueError) as error:
            failure = f"sent something that is no answer ({type(error).__name__})."
        else:
            return answer
        # raised here, so that no request with its key hangs on the error
        raise EmbeddingError(f"the reranker at {self._host} {failure}")


def scores_of_answer(answer: object, n: int, host: str) -> Floats:
    """Read the scores of `n` passages from a reranker's answer, in the passages' order.

    Raises
    ------
    EmbeddingError
        A passage is missing, comes twice or does not exist, or a score is no finite number; all of them named.

    Examples
    --------
    >>> reply = {"results": [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.0}]}
    >>> scores_of_answer(reply, 2, "host").tolist()
    [0.0, 0.9]
    """
    results = answer.get("results", answer.get("data")) if isinstance(answer, Mapping) else answer
    if not isinstance(results, list):
        raise EmbeddingError(f"the reranker at {host} sent no list of results; expected index and relevance_score.")
    scores, problems = np.full(n, np.nan), []
    for place, item in enumerate(results):
        index = item.get("index") if isinstance(item, Mapping) else None
        value = item.get("relevance_score", item.get("score")) if isinstance(item, Mapping) else None
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < n:
            problems.append(f"result {place + 1} names passage {index!r}; {n} were sent")
        elif isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
            problems.append(f"the score of passage {index} is {value!r}, expected a finite number")
        elif not np.isnan(scores[index]):
            problems.append(f"passage {index} comes twice")
        else:
            scores[index] = value
    if not problems:
        problems = [f"passage {index} has no score" for index in np.flatnonzero(np.isnan(scores)).tolist()]
    if problems:
        raise EmbeddingError(f"the reranker at {host} sent scores that cannot be used:\n" + listed(problems))
    return scores


def rerank(
    candidates: Candidates,
    reranker: Reranker,
    queries: Mapping[str, str],
    passages: Mapping[str, str],
    *,
    by: str,
    depth: int,
    name: str = "rerank",
    progress: Progress | None = None,
) -> Candidates:
    """Add the reranker's scores of the best `depth` candidates of every query; the others stay unscored by it.

    Parameters
    ----------
    queries, passages : mapping of id to text
    by : str
        The signal whose best are read.
    """
    rows = candidates.rows
    values = pd.Series(candidates.values(by)[:, 0], index=rows.index)
    order = rows.assign(value=values).sort_values(["query_id", "value", "doc_id"], ascending=[True, False, True])
    place = order.groupby("query_id").cumcount().reindex(rows.index)
    chosen = np.flatnonzero((place < depth).to_numpy() & values.notna().to_numpy())
    missing = sorted(set(rows["doc_id"].iloc[chosen]) - set(passages))
    if missing:
        raise EmbeddingError(f"{len(missing)} candidates have no text to read:\n" + listed(missing))
    scores = np.full(len(rows), np.nan)
    asked = [queries[query] for query in rows["query_id"].iloc[chosen]]
    read = [passages[doc] for doc in rows["doc_id"].iloc[chosen]]
    scores[chosen] = reranker.score(asked, read, progress)
    return candidates.with_signal(name, scores, reranker.contract)
