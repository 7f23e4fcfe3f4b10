"""The bundled sample, studied once for all tests of the hybrid study."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from calibration.params import validated
from calibration.studies.hybrid.params import HybridParams
from calibration.studies.hybrid.study import Hybrid, hybrid


@pytest.fixture(scope="session")
def sample(run_cache: Path) -> Iterator[Hybrid]:
    """The bundled sample with MiniLM, studied once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CALIBRATION_CACHE", str(run_cache))
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.delenv("CALIBRATION_RUN", raising=False)
        yield hybrid(validated(HybridParams, {"model": "minilm"}))
