"""The error tree, by what the user does next. "No floor" is a result and is not here."""


class CalibrationError(Exception):
    """Base of every error this package raises on purpose: what was found, what was expected, what to do."""


class ContractError(CalibrationError):
    """A score's meaning is unknown, contradictory, or does not allow what was asked of it."""


class LabelError(CalibrationError):
    """Queries, judgements or corpus rows are wrong; the message lists all bad rows with their line numbers."""


class EmbeddingError(CalibrationError):
    """A model is missing, or answered with something that is not the vectors it was asked for."""


class StoreError(CalibrationError):
    """The database or the file of vectors cannot give an exact pull."""


class ParameterError(CalibrationError):
    """A parameter is unknown, mistyped or out of range."""


class NotebookError(CalibrationError):
    """A notebook cannot be run as it is, or failed while running."""


def listed(problems: list[str], *, limit: int = 20) -> str:
    """Join problems one per line, the first `limit` of them, with the count of the rest."""
    shown = problems[:limit]
    rest = len(problems) - len(shown)
    return "\n".join([f"  - {problem}" for problem in shown] + ([f"  … and {rest} more"] if rest else []))
