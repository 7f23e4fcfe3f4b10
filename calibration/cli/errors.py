"""Exit codes: 0 fine, 1 error, 2 usage, 3 regression, 130 cancelled."""

import os
import sys

import typer

from ..errors import CalibrationError

ERROR, USAGE, REGRESSION, CANCELLED = 1, 2, 3, 130


def exit_code(app: typer.Typer) -> int:
    """Run the app and turn what it raises into words on stderr and an exit code."""
    try:
        app()
    except CalibrationError as error:
        sys.stderr.write(f"calibrate: {error}\n")
        return ERROR
    except KeyboardInterrupt:
        sys.stderr.write("calibrate: cancelled; finished stages are kept and the same command continues from there\n")
        return CANCELLED
    except BrokenPipeError:
        # whoever read stdout has gone; keep the interpreter from complaining about it at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ERROR
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else ERROR
    return 0
