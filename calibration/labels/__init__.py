"""Labelled queries: readers that say every problem at once, and the probes that need no labels."""

from .anchors import carry_labels
from .answerability import BY_KIND
from .carried import Carried
from .cells import GRADE_WORDS
from .languages import LANGUAGES, detect_languages
from .model import Labels, Unjudged, check_documents
from .probes import read_probes
from .read import read_answers, read_corpus, read_database, read_labels
from .rows import ANSWERABILITY, Answerability

__all__ = [
    "ANSWERABILITY",
    "BY_KIND",
    "GRADE_WORDS",
    "LANGUAGES",
    "Answerability",
    "Carried",
    "Labels",
    "Unjudged",
    "carry_labels",
    "check_documents",
    "detect_languages",
    "read_answers",
    "read_corpus",
    "read_database",
    "read_labels",
    "read_probes",
]
