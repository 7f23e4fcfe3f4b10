"""Facts of a run as plain JSON: versions, parameters, labels. Never a secret, never a text."""

import json
import platform
import re
import shlex
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pandas as pd

from ..labels import Labels
from ..params import RunParams
from .fingerprint import short_hash

OPTIONS = {
    "answerability_by_kind": "--answerability", "exclude_subjects": "--exclude-subject", "languages": "--language",
}  # fmt: skip
"""Parameters whose option is not called as they are."""
NO_OPTION = frozenset(
    {
        "queries_sql", "qrels_sql", "model_column", "model_value", "strategy", "statement_timeout", "dimensions",
        "query_prefix", "passage_prefix", "probes_file", "k_max", "target", "confidence", "inclusive", "seed",
    }
)  # fmt: skip
"""Parameters that the command takes with --set only."""
PACKAGES = ("retrieval-calibration", "numpy", "scipy", "pandas", "scikit-learn", "pgvector", "psycopg", "papermill")


def run_facts(params: RunParams, labels: Labels, probes: pd.DataFrame | None) -> dict[str, Any]:
    """Facts that hold before anything is pulled."""
    return {
        "date": date.today().isoformat(),
        "labels": {
            "queries": len(labels.queries),
            "judgements": len(labels.qrels),
            "rel_level": labels.rel_level,
            "unjudged": labels.unjudged,
            "hash": labels.content_hash(),
            "corpus_rows": None if labels.corpus is None else len(labels.corpus),
        },
        "probes": None if probes is None else _probe_facts(probes),
        "versions": versions(),
        "parameters": public_parameters(params),
        "command": command(params),
    }


def versions() -> dict[str, str]:
    """Versions of Python and of the packages a result depends on."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def public_parameters(params: RunParams) -> dict[str, Any]:
    """Parameters that differ from the defaults; a dsn cannot hold a password, and those of a URL are taken out."""
    values = params.model_dump(mode="json", exclude_defaults=True)
    if params.base_url is not None:
        values["base_url"] = re.sub(r"//[^/@]*@", "//***@", params.base_url)
    return values


def command(params: RunParams, verb: str = "run") -> str:
    """Give the command that repeats a run; secrets come from the environment and are not in it."""
    words = ["calibrate", verb]
    for name, value in {**public_parameters(params), "out": params.out}.items():
        option = OPTIONS.get(name, f"--{name.replace('_', '-')}")
        if name in ("allow_dangling", "show_text"):
            words.append(option)
        elif name == "probes":
            words.append("--no-probes")
        elif name in NO_OPTION:
            words += ["--set", f"{name}={json.dumps(value, ensure_ascii=False)}"]
        elif isinstance(value, dict):
            words += [word for key, item in value.items() for word in (option, f"{key}={item}")]
        else:
            items = value if isinstance(value, list) else [value]
            words += [word for item in items for word in (option, str(item))]
    return shlex.join(words)


def _probe_facts(probes: pd.DataFrame) -> dict[str, Any]:
    return {
        "queries": len(probes),
        "languages": sorted(probes["language"].unique().tolist()),
        "subjects": {
            query_id: subject for query_id, subject in zip(probes["query_id"], probes["subject"], strict=True)
        },
        "hash": short_hash(probes[["query_id", "text"]].to_dict("list")),
    }
