"""A baseline of a small world, frozen once and copied for each test."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from frozen_world import World


@pytest.fixture(scope="module")
def frozen_once(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("frozen")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CALIBRATION_CACHE", str(folder / "cache"))
        patch.delenv("CALIBRATION_RUN", raising=False)
        world = World.made(folder / "world", must={"a0": "hit", "a1": "hit", "o0": "refuse"})
        world.freeze()
    return world


@pytest.fixture
def world(frozen_once: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A copy of a world with its baseline, to be changed."""
    monkeypatch.setenv("CALIBRATION_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CALIBRATION_RUN", raising=False)
    shutil.copytree(frozen_once.folder, tmp_path / "world")
    return replace(
        frozen_once,
        folder=tmp_path / "world",
        queries=dict(frozen_once.queries),
        passages=dict(frozen_once.passages),
    )
