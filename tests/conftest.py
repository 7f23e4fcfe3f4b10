"""Fixtures that several rooms use."""

from collections.abc import Iterator

import pytest

from calibration.sources.postgres.server import embedded_server, remove_embedded


@pytest.fixture(scope="session")
def server_dsn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Conninfo of an embedded server of this test session's own; its files go with the session."""
    cache = tmp_path_factory.mktemp("cache")
    with embedded_server(cache) as conninfo:
        yield conninfo
    remove_embedded(cache)
