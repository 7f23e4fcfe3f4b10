"""pytest fixtures for a frozen floor and its queries that must hit or must be refused.

Load them with ``pytest_plugins = ["calibration.pytest_plugin"]`` in the topmost conftest.py, and name the baseline with
``calibration_baseline = "path"`` under ``[tool.pytest.ini_options]``. See docs/ci.md.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .labels import Labels
    from .params import RunParams
    from .studies.check.baseline import Baseline
    from .studies.check.study import Check

BASELINE, CONFIG = "calibration_baseline", "calibration_config"


@dataclass(frozen=True)
class MustQuery:
    """A query of the baseline that must hit, or must be refused.

    Attributes
    ----------
    query_id : str
    must : str
        "hit" or "refuse".
    """

    query_id: str
    must: str
    _world: "_World" = field(repr=False, compare=False)

    @property
    def text(self) -> str:
        """What to ask, from today's labels."""
        __tracebackhide__ = True
        if self.query_id not in self._world.texts:
            raise AssertionError(f"query {self.query_id} must {self.must}, and is not among today's labels")
        return self._world.texts[self.query_id]

    @property
    def relevant(self) -> frozenset[str]:
        """Passages of which one has to come back."""
        return self._world.relevant(self.query_id)

    def verify(self, accepted: Iterable[str]) -> None:
        """Compare with the ids that your system accepted.

        Raises
        ------
        TypeError
            One id, or one text, where a collection of ids belongs.
        AssertionError
            It must hit and no relevant passage is among them, or it must be refused and some passage is.
        """
        __tracebackhide__ = True
        if isinstance(accepted, str | bytes):
            raise TypeError(f"accepted is {accepted!r}, expected the ids of all accepted passages, such as a list")
        ids = [str(doc) for doc in accepted]
        if self.must == "refuse" and ids:
            raise AssertionError(f"query {self.query_id} must be refused, and {_counted(ids)} came back: {_some(ids)}")
        if self.must == "hit":
            wanted = self.relevant
            if not ids:
                raise AssertionError(f"query {self.query_id} must hit, and nothing came back")
            if wanted and wanted.isdisjoint(ids):
                raise AssertionError(
                    f"query {self.query_id} must hit one of {_some(sorted(wanted))}, and got {_some(ids)}"
                )


class _World:
    """The baseline and the live system, each looked at once and when first needed."""

    def __init__(self, path: Path, config: Path | None) -> None:
        self._path = path
        self._config = config

    @cached_property
    def baseline(self) -> "Baseline":
        from .studies.check.baseline import read_baseline

        return read_baseline(self._path)

    @cached_property
    def params(self) -> "RunParams":
        from .cli.live import live_parameters

        return live_parameters(self.baseline, {}, None, self._config)

    @cached_property
    def labels(self) -> "Labels":
        from .studies.inputs import read_inputs

        return read_inputs(self.params).labels

    @cached_property
    def texts(self) -> dict[str, str]:
        queries = self.labels.queries
        return {query: str(text) for query, text in zip(queries["query_id"], queries["text"], strict=True)}

    def relevant(self, query_id: str) -> frozenset[str]:
        qrels = self.labels.qrels
        rows = qrels[(qrels["query_id"] == query_id) & (qrels["relevance"] >= self.labels.rel_level)]
        return frozenset(rows["doc_id"])

    @cached_property
    def check(self) -> "Check":
        from .studies.check.study import check_baseline

        return check_baseline(self.baseline, self.params)

    def must(self) -> list[MustQuery]:
        queries = self.baseline.queries
        rows = queries[queries["must"] != "-"]
        return [MustQuery(query, must, self) for query, must in zip(rows["query_id"], rows["must"], strict=True)]


_KEY = pytest.StashKey[_World]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the settings."""
    parser.addini(BASELINE, "a committed recommendation.json, or its folder", default="baseline")
    parser.addini(CONFIG, "calibration.toml of the live system, when no run.json lies beside the baseline", default="")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes `must_query` once for each of them."""
    if "must_query" in metafunc.fixturenames:
        from .errors import CalibrationError

        try:
            queries = _world(metafunc.config).must()
        except CalibrationError as error:
            raise pytest.UsageError(str(error)) from None
        if not queries:
            # pytest would skip the test, and a gate that asked nothing would be green
            raise pytest.UsageError("the baseline has no query that must hit or must be refused: set `must` in labels.")
        metafunc.parametrize("must_query", queries, ids=[f"{one.query_id}-{one.must}" for one in queries])


@pytest.fixture(scope="session")
def calibration_check(pytestconfig: pytest.Config) -> "Check":
    """Give the whole check of the baseline against the live system; `.ok`, `.failures`, `.changes`."""
    return _world(pytestconfig).check


def _world(config: pytest.Config) -> _World:
    if _KEY not in config.stash:
        named = str(config.getini(CONFIG))
        root = config.rootpath
        config.stash[_KEY] = _World(root / str(config.getini(BASELINE)), root / named if named else None)
    return config.stash[_KEY]


def _counted(ids: Sequence[str]) -> str:
    return "1 passage" if len(ids) == 1 else f"{len(ids)} passages"


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:5]) + (f" and {len(ids) - 5} more" if len(ids) > 5 else "")
