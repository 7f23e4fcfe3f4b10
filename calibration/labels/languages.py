"""Which of the probes' languages the user's queries are written in."""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

import pandas as pd

LANGUAGES = ("en", "pl", "de", "es", "fr", "ja")
SHARE = 0.1
"""A language counts when at least this share of the texts is written in it."""

_SURE = 0.9
"""Below this confidence a text has no vote: bare keywords and codes are taken for any language. On four English sets of
which a fifth are codes, votes without this bar found up to 14 % German; with it none."""


def detect_languages(texts: Sequence[str]) -> tuple[str, ...]:
    """Name the languages, among `LANGUAGES` and in their order, that carry at least a tenth of the texts.

    Missing texts are skipped, and so are texts that could be of any language, unless there are no others. A language
    outside the six is taken for the nearest of them. Nothing to read gives an empty tuple.

    Examples
    --------
    >>> detect_languages(["Wie kündige ich meinen Vertrag?", "How do I cancel my contract?", "E4107"])
    ('en', 'de')
    """
    written = [text for text in texts if not pd.isna(text) and text.strip()]
    votes = [_identifier().classify(text) for text in written]
    sure = [language for language, confidence in votes if confidence >= _SURE]
    counted = Counter(sure or [language for language, _ in votes])
    return tuple(name for name in LANGUAGES if counted[name] > 0 and counted[name] >= SHARE * counted.total())


@cache
def _identifier() -> Any:
    # An instance of our own: the library's shared one would keep the six languages for everybody in the process.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(list(LANGUAGES))
    return identifier
