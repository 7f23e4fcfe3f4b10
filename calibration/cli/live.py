"""The live system that a baseline is checked against: run.json beside it, or calibration.toml, under the options."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .config import CONFIG, DSN, run_parameters, setting

if TYPE_CHECKING:
    from ..params import RunParams
    from ..studies.check.baseline import Baseline


def live_parameters(
    baseline: "Baseline",
    given: Mapping[str, Any],
    model: str | None,
    config: Path | None = None,
    settings: Sequence[str] = (),
) -> "RunParams":
    """Say where the frozen queries are to be asked.

    The parameters of run.json beside the baseline, or those of `config` when it is given; without a run.json
    calibration.toml here. `--set`, then options, win; so does CALIBRATION_DSN over a recorded database.

    Raises
    ------
    ParameterError
        What they say together cannot be used.
    """
    recorded = baseline.parameters if config is None else None
    options = {name: value for name, value in given.items() if value is not None}
    if recorded is None:
        _refuse_unknown(baseline, config, [*options, *settings])
        chosen = model or _named(baseline)
        return run_parameters({**options, "model": None if chosen is None else [chosen]}, config, settings)[0]
    said = dict(setting(text) for text in settings)
    values = {**_usable(recorded), **said, **options}
    if model is not None:
        values["model"] = model
    if values.get("dsn") is not None and "dsn" not in options and os.environ.get(DSN):
        values["dsn"] = os.environ[DSN]
    names = values.pop("model", None)
    return _without_config({**values, "model": None if names is None else [names]})


def _usable(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what a run.json cannot say: where its own files went, and an address whose user is hidden."""
    values = {name: value for name, value in recorded.items() if name != "out"}
    if "***" in str(values.get("base_url", "")):
        values.pop("base_url")
    return values


def _refuse_unknown(baseline: "Baseline", config: Path | None, said: Sequence[str]) -> None:
    """Refuse to fall back on the bundled sample: it would be compared with somebody's floor."""
    from ..errors import ParameterError

    if config is None and not said and not Path(CONFIG).is_file():
        raise ParameterError(
            f"nothing says where the live system is: there is no {baseline.path.parent / 'run.json'} and no {CONFIG} "
            "here. Commit run.json beside the recommendation, or describe the system in calibration.toml."
        )


def _named(baseline: "Baseline") -> str | None:
    """Model of the baseline; None where its vectors or scores came without one."""
    details = (baseline.document["fingerprint"].get("details") or {}).get("model")
    return None if details and details.get("name") is None else baseline.document["model"]


def _without_config(values: Mapping[str, Any]) -> "RunParams":
    from ..params import parameters

    plain = {name: value for name, value in values.items() if value is not None}
    names = plain.pop("model", None)
    if isinstance(plain.get("dsn"), str):
        from ..studies.machine import detach_password

        plain["dsn"] = detach_password(plain["dsn"])
    return parameters({**plain, "model": None if names is None else names[0]})
