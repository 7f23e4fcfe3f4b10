"""parameters.md: every parameter, from the models."""

import inspect
import json
import re
from collections.abc import Iterator

from pydantic import BaseModel

from calibration import HybridParams, MigrateParams, OptionsParams, RunParams

from .text import NONE, paragraph, table, type_words


def parameters() -> Iterator[str]:
    """Write the page."""
    yield from paragraph(
        "What `calibration.toml`, `--set NAME=VALUE`, the notebooks' parameter cells and the library take, with the"
        " same names. A name that is none of these is refused, with the closest one that is. Paths are relative to the"
        " working folder. In `calibration.toml`, `models` may list several models in place of `model`."
    )
    shown: tuple[tuple[str, str, type[BaseModel]], ...] = (
        ("Of every run", "`RunParams`; `calibrate run`, `inspect`, `doctor`, `check`.", RunParams),
        ("Of a hybrid study", "`HybridParams`; `calibrate hybrid`: those of a run, and these.", HybridParams),
        ("Of the five options", "`OptionsParams`; `calibrate options`: those of a run, and these.", OptionsParams),
        ("Of a migration", "`MigrateParams`; options of `calibrate migrate`, not in calibration.toml.", MigrateParams),
    )
    for title, words, model in shown:
        yield from [f"## {title}", "", words, ""]
        schema = model.model_json_schema()
        for heading, names in parameter_groups(model).items():
            if heading:
                yield from [f"### {heading[0].upper()}{heading[1:]}", ""]
            rows = []
            for name in names:
                one = schema["properties"][name]
                default = model.model_fields[name].get_default(call_default_factory=True)
                told = NONE if default is None or default in ([], {}) else f"`{json.dumps(default)}`"
                kind = type_words(one).removesuffix(" or null").replace("object", "table")  # TOML knows no null
                rows.append((f"`{name}`", kind, told, str(one.get("description", "")).replace("None", "none")))
            yield from table(("name", "type", "default", "meaning"), rows)


def parameter_groups(model: type[BaseModel]) -> dict[str, list[str]]:
    """Sort a model's own fields under the comments that stand above them in the source; "" where there are none."""
    own = [name for name in model.model_fields if name in model.__annotations__]
    groups: dict[str, list[str]] = {}
    heading = ""
    for line in inspect.getsource(model).splitlines():
        comment, field = re.fullmatch(r" {4}# ([\w ]+)", line), re.match(r" {4}(\w+):", line)
        if comment:
            heading = comment[1]
        elif field and field[1] in own:
            groups.setdefault(heading, []).append(field[1])
    return groups
