"""What one invocation shares with its notebooks through the environment, and how long its stages take."""

import os
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from ..studies.calibrate import SESSION
from ..studies.stage import forget_session


@contextmanager
def session() -> Iterator[None]:
    """Name this invocation, so that its notebooks find what it pulled from sources that may change; tame their threads.

    What was kept under its name goes away at the end, however that comes.
    One BLAS thread per kernel: two kernels with two threads each fight over two processors.
    """
    with ExitStack() as stack:
        if os.environ.get(SESSION) is None:
            name = uuid.uuid4().hex
            stack.enter_context(_environment(SESSION, name))
            stack.callback(forget_session, name)
        stack.enter_context(_environment("OMP_NUM_THREADS", os.environ.get("OMP_NUM_THREADS", "1")))
        yield


@contextmanager
def timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Note how long a stage took, in seconds."""
    start = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - start


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before
