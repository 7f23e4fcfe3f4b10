"""Where the three files of a labelled set lie in a folder of the BEIR layout."""

from dataclasses import dataclass
from pathlib import Path

from .files import SUFFIXES
from .tables import Findings, enumerated

_SPLITS = ("test", "dev", "validation", "val", "train")


@dataclass(frozen=True)
class Files:
    """Paths of one labelled set; `other_splits` are judgement files that were found and not chosen."""

    queries: Path | None
    qrels: Path | None
    corpus: Path | None
    other_splits: tuple[Path, ...] = ()


def find_files(folder: Path, findings: Findings) -> Files:
    """Find queries, qrels (or one file of a folder `qrels`) and corpus; what is absent is not yet a problem."""
    if not folder.is_dir():
        findings.problems.append(f"{folder}: no such folder")
        return Files(None, None, None)
    qrels = _only(folder, "qrels", findings)
    splits = [] if qrels is not None else _splits(folder / "qrels")
    if splits:
        qrels = splits[0]
        if len(splits) > 1:
            others = enumerated([path.name for path in splits[1:]])
            findings.warnings.append(f"qrels/{qrels.name} was read; {others} beside it was not")
    return Files(_only(folder, "queries", findings), qrels, _only(folder, "corpus", findings), tuple(splits[1:]))


def _only(folder: Path, stem: str, findings: Findings) -> Path | None:
    found = [folder / f"{stem}{suffix}" for suffix in SUFFIXES if (folder / f"{stem}{suffix}").is_file()]
    if len(found) > 1:
        names = enumerated([path.name for path in found])
        findings.problems.append(f"{folder.name}: {names} lie side by side; name the one to read, or remove the other")
    return found[0] if found else None


def _splits(folder: Path) -> list[Path]:
    """List the split files, the one to read first: test, then dev, validation, train, then by name."""
    found = [path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES] if folder.is_dir() else []

    def order(path: Path) -> tuple[int, str]:
        return (_SPLITS.index(path.stem) if path.stem in _SPLITS else len(_SPLITS), path.name)

    return sorted(found, key=order)
