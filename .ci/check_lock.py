"""Fail when a dependency of pyproject.toml has no pin in requirements.lock, or a pin outside its range."""

import re
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

root = Path(__file__).resolve().parents[1]
project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
UNLOCKED = {"benchmarks", "consumers"}  # other tools and all they bring, for one benchmark and one room of tests
extras = {name: lines for name, lines in project["optional-dependencies"].items() if name not in UNLOCKED}
wanted = [*project["dependencies"], *(line for lines in extras.values() for line in lines)]
pins: dict[str, list[str]] = {}
for line in (root / "requirements.lock").read_text(encoding="utf-8").splitlines():
    match = re.match(r"([A-Za-z0-9._-]+)==([^\s;]+)", line)
    if match:
        pins.setdefault(canonicalize_name(match[1]), []).append(match[2])
problems = []
for text in wanted:
    requirement = Requirement(text)
    name = canonicalize_name(requirement.name)
    if name == canonicalize_name(project["name"]):
        continue
    versions = pins.get(name, [])
    if not versions:
        problems.append(f"{name}: not in requirements.lock")
    outside = [version for version in versions if version not in requirement.specifier]
    problems += [f"{name}=={version} is outside {requirement.specifier}" for version in outside]
if problems:
    sys.exit("requirements.lock does not fit pyproject.toml (see CONTRIBUTING.md to renew it):\n" + "\n".join(problems))
sys.stdout.write(f"{len(pins)} pins fit\n")
