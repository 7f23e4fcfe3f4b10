"""`python -m calibration` and the `calibrate` command."""

import sys

from .cli import app
from .cli.errors import exit_code


def main() -> None:
    """Run the command; errors the package raises on purpose end as words on stderr and exit code 1."""
    # where JupyterLab is installed, jsonschema would build a grammar of web addresses at import, for two seconds, to
    # check a format that no notebook and no document of ours has
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
    sys.exit(exit_code(app))


if __name__ == "__main__":
    main()
