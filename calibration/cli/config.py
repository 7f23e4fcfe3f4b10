"""What the command line, calibration.toml and the environment say together: the parameters of each model's run."""

import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..params import Params, RunParams

CONFIG = "calibration.toml"
DSN = "CALIBRATION_DSN"
ONE_OFF_MODEL = "minilm"
"""Model of a user's own labels when none is named: the quickest good one."""


def run_parameters(
    given: Mapping[str, Any], config: Path | None = None, settings: Sequence[str] = ()
) -> "list[RunParams]":
    """Validate the parameters of a calibration, one set per model; see `parameters_of`."""
    from ..params import RunParams

    return parameters_of(RunParams, given, config, settings)


def parameters_of(
    kind: "type[Params]", given: Mapping[str, Any], config: Path | None = None, settings: Sequence[str] = ()
) -> "list[Params]":
    """Validate what was given, one set of parameters per model.

    A password in a dsn is moved into PGPASSWORD, where libpq and the notebooks' kernels find it and no file does.

    Parameters
    ----------
    given : mapping
        Options by the name of their parameter; None and empty lists were not given. `model` is a list.
    settings : sequence of str
        NAME=VALUE of `--set`.

    Raises
    ------
    ParameterError
        Every problem found, before anything is embedded or pulled.
    """
    from ..params import SAMPLE_MODELS, validated

    values = _merged(kind, given, config, settings)
    models = _models(values)
    if values.get("table") is not None and not _has(values, "dsn", "service", "scores") and os.environ.get(DSN):
        values["dsn"] = os.environ[DSN]
    if isinstance(values.get("dsn"), str):
        from ..studies.machine import detach_password

        values["dsn"] = detach_password(values["dsn"])
    if not models:
        own = _has(values, "labels", "queries", "queries_sql", "dsn", "service")
        ready = _has(values, "scores", "vectors", "signals", "trec_runs")
        models = [None] if ready else [ONE_OFF_MODEL] if own else list(SAMPLE_MODELS)
    _refuse_many(models, values)
    if values.get("out") is None:
        values["out"] = f"reports/runs/{_run_name(values)}"
    return [validated(kind, {**values, "model": model}) for model in models]


def read_config(path: Path) -> dict[str, Any]:
    """Read calibration.toml; `models` may list several models.

    Raises
    ------
    ParameterError
        Not there, not TOML, or unknown names in it.
    """
    from ..errors import ParameterError, listed
    from ..params import RunParams, unknown_names
    from ..studies.hybrid.params import HybridParams

    try:
        values = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ParameterError(f"cannot read {path}: {error.strerror}. `calibrate init` writes one.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"{path} is not valid TOML: {error}.") from None
    problems = unknown_names(values, {*RunParams.model_fields, *HybridParams.model_fields, "models"})
    if "model" in values and "models" in values:
        problems.append("give either model or models, not both")
    models = values.get("models", [])
    if not isinstance(models, list) or not all(isinstance(model, str) for model in models):
        problems.append(f'models: expected a list of names, such as ["minilm"], found {models!r}')
    if problems:
        raise ParameterError(f"{path} cannot be used:\n" + listed(problems))
    return values


def setting(text: str) -> tuple[str, Any]:
    """Read NAME=VALUE; a value is what it would be in calibration.toml, and text where that is no TOML.

    Raises
    ------
    ParameterError
        There is no "=" in it.

    Examples
    --------
    >>> setting("target=0.95"), setting("strategy=sql"), setting("inclusive=false")
    (('target', 0.95), ('strategy', 'sql'), ('inclusive', False))
    """
    from ..errors import ParameterError

    name, equals, value = text.partition("=")
    if not equals:
        raise ParameterError(f"--set {text!r}: expected NAME=VALUE, such as target=0.95.")
    try:
        return name.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name.strip(), value


def _merged(
    kind: "type[Params]", given: Mapping[str, Any], config: Path | None, settings: Sequence[str]
) -> dict[str, Any]:
    """Take calibration.toml, `--set` over it, and options over both; what is in the file for other commands is left."""
    path = config or (Path(CONFIG) if Path(CONFIG).is_file() else None)
    read = {} if path is None else read_config(path)
    values = {name: value for name, value in read.items() if name == "models" or name in kind.model_fields}
    said = dict(setting(text) for text in settings)
    said |= {name: value for name, value in given.items() if value is not None and value != []}
    for name, other in (("model", "models"), ("models", "model")):
        if name in said:
            values.pop(other, None)
    return values | said


def _models(values: dict[str, Any]) -> list[str | None]:
    """Take the names of models out of the values."""
    one, several = values.pop("model", None), values.pop("models", None) or []
    named = several if one is None else one
    return list(named) if isinstance(named, list) else [named]


def _refuse_many(models: Sequence[str | None], values: Mapping[str, Any]) -> None:
    """Refuse several models where the vectors or scores are those of one."""
    from ..errors import ParameterError

    if len(models) < 2:
        return
    twice = sorted({str(model) for model in models if models.count(model) > 1})
    if twice:
        raise ParameterError(f"the model {', '.join(twice)} is named more than once.")
    ready = [name for name in ("scores", "vectors", "table") if values.get(name) is not None]
    if ready and values.get("model_column") is None:
        raise ParameterError(
            f"{ready[0]} {values[ready[0]]!r} holds what one model made, and {len(models)} models are named: "
            f"{', '.join(map(str, models))}. Name the one behind it"
            + (", or the model_column that tells them apart." if ready[0] == "table" else ".")
        )


def _has(values: Mapping[str, Any], *names: str) -> bool:
    return any(values.get(name) is not None for name in names)


def _run_name(values: Mapping[str, Any]) -> str:
    from ..params import safe_name

    for name in ("labels", "scores", "signals", "vectors", "table", "queries"):
        if values.get(name) is not None:
            return safe_name(Path(str(values[name])).stem)
    return "sample"
