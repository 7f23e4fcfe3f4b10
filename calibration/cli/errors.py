"""Exit codes: 0 fine, 1 error, 2 usage, 3 regression, 130 cancelled."""

import errno
import os
import sys

import typer

from ..errors import CalibrationError

ERROR, USAGE, REGRESSION, CANCELLED = 1, 2, 3, 130


def exit_code(app: typer.Typer) -> int:
    """Run the app and turn what it raises into words on stderr and an exit code."""
    try:
        app(prog_name="calibrate")
    except CalibrationError as error:
        return _failed(str(error))
    except KeyboardInterrupt:
        return _cancelled()
    except OSError as error:
        if error.errno == errno.EPIPE:
            # whoever read stdout has gone; keep the interpreter from complaining about it at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return ERROR
        if error.strerror is None:
            raise
        return _failed(error.strerror if error.filename is None else f"{error.filename}: {error.strerror}")
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else ERROR
        return _cancelled() if code == CANCELLED else code  # typer has caught the interrupt
    return 0


def _failed(words: str) -> int:
    sys.stderr.write(f"calibrate: {words}\n")
    return ERROR


def _cancelled() -> int:
    sys.stderr.write("calibrate: cancelled; finished stages are kept, and the same command continues from there\n")
    return CANCELLED
