"""`python -m calibration` and the `calibrate` command."""

import sys

from .cli import app
from .cli.errors import exit_code


def main() -> None:
    """Run the command; errors the package raises on purpose end as words on stderr and exit code 1."""
    sys.exit(exit_code(app))


if __name__ == "__main__":
    main()
