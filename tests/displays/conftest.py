"""The made calibrations that several tests of displays look at."""

import made_calibrations
import pytest

from calibration.studies.model import Calibration


@pytest.fixture
def drawn() -> Calibration:
    return made_calibrations.sample()


@pytest.fixture
def three_hits() -> Calibration:
    return made_calibrations.three_hits()


@pytest.fixture
def nothing_relevant() -> Calibration:
    return made_calibrations.nothing_relevant()
