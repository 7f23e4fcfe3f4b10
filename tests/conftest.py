"""Fixtures that several rooms use."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from small_world import write_labels

from calibration.sources.postgres.server import embedded_server, remove_embedded

collect_ignore_glob = ["conftest.py", "*/conftest.py"]
"""--doctest-modules would import each as the one module `conftest`."""


LONG = (
    "test_runs_killed.py", "test_ci_example.py", "test_runs_resume.py", "test_studies_database.py",
    "test_runs_options.py", "test_runs_contract.py", "test_browser.py", "test_explorer_browser.py", "test_cli_check.py",
    "test_your_database.py",
)  # fmt: skip
"""Modules of a minute and more: begun first, or the last of them would keep one process while the other is done."""


@pytest.hookimpl(trylast=True)  # after the modules were shuffled
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in LONG)


@pytest.fixture(scope="session")
def server_dsn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Conninfo of an embedded server of this test session's own; its files go with the session."""
    cache = tmp_path_factory.mktemp("cache")
    with embedded_server(cache) as conninfo:
        yield conninfo
    remove_embedded(cache)


@pytest.fixture(scope="session")
def labels_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small labelled set in BEIR layout, with a canary in a query and in a passage."""
    return write_labels(tmp_path_factory.mktemp("labels"))


@pytest.fixture(scope="session")
def run_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache that the runs of this session share; its server goes with the session."""
    cache = tmp_path_factory.mktemp("run-cache")
    yield cache
    remove_embedded(cache)
