"""What a check found, for machines: a JSON document, and JUnit XML for whoever shows test results."""

from dataclasses import asdict
from typing import Any
from xml.etree import ElementTree

from ..studies.check.drift import RateChange
from ..studies.check.study import Check
from .document import strip_nan

SUITE = "calibrate check"


def check_document(check: Check) -> dict[str, Any]:
    """Everything a check found as plain JSON values; ids, no texts."""
    document: dict[str, Any] = strip_nan(
        {
            "schema_version": 1,
            "status": check.status,
            "stale": check.stale,
            "regression": check.regressed,
            "failures": check.failures,
            "warnings": check.warnings,
            "baseline": str(check.baseline.path),
            "model": check.model,
            "floor": check.floor,
            "top_k": check.top_k,
            "tolerance": check.tolerance,
            "queries": check.n_queries,
            "documents": check.n_documents,
            "changes": [asdict(change) for change in check.changes],
            "rates": {rate.measure.name: rate_document(rate) for rate in check.rates},
            "must": [asdict(must) for must in check.musts],
            "accepted_sets": [asdict(change) for change in check.accepted],
            "not_asked": list(check.missing),
            "ceiling": None if check.ceiling is None else asdict(check.ceiling),
            "verdict": check.verdict,
        }
    )
    return document


def rate_document(change: RateChange) -> dict[str, Any]:
    """One rate before and now with the paired test."""
    return {
        "gate": change.measure.gate,
        "failed": change.failed,
        "why": change.why,
        "frozen": change.frozen,
        "before": asdict(change.before),
        "now": asdict(change.now),
        "worse": change.paired.worse,
        "better": change.paired.better,
        "worse_groups": change.paired.worse_groups,
        "better_groups": change.paired.better_groups,
        "p_value": change.paired.p_value,
    }


def check_junit(check: Check) -> str:
    """JUnit XML: one case per thing the floor depends on, per gate, and per query that must hit or be refused."""
    cases = [*_parts(check), *_gates(check), *_musts(check), *_whole(check)]
    failures = sum(bool(reason) for _, _, reason in cases)
    attributes = {"name": SUITE, "tests": str(len(cases)), "failures": str(failures), "errors": "0", "skipped": "0"}
    suite = ElementTree.Element("testsuite", attributes)
    for kind, name, reason in cases:
        case = ElementTree.SubElement(suite, "testcase", {"classname": f"calibration.{kind}", "name": _plain(name)})
        if reason:
            ElementTree.SubElement(case, "failure", {"message": _plain(reason)}).text = _plain(reason)
    root = ElementTree.Element("testsuites", {name: attributes[name] for name in ("name", "tests", "failures")})
    root.append(suite)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


Case = tuple[str, str, str]


def _parts(check: Check) -> list[Case]:
    grave = [change for change in check.changes if change.consequence == "stale"]
    return [
        ("fingerprint", part, " ".join(change.words for change in grave if change.part == part))
        for part in ("model", "corpus", "labels", "contract", "policy")
    ]


def _gates(check: Check) -> list[Case]:
    return [
        ("rates", rate.measure.name, rate.why if rate.failed else "")
        for rate in check.rates
        if rate.measure.gate and rate.frozen
    ]


def _musts(check: Check) -> list[Case]:
    queries = check.baseline.queries
    broken = {must.query_id: f"must {must.must}: {must.words}" for must in check.musts if must.broken}
    asked = {*queries.loc[queries["must"] != "-", "query_id"], *broken}
    return [("must", name, broken.get(name, "")) for name in sorted(asked)]


def _whole(check: Check) -> list[Case]:
    return [("floor", "highest score", check.verdict)]


def _plain(text: str) -> str:
    """Leave out what XML cannot hold."""
    return "".join(c if c in "\t\n\r" or (c >= " " and not _no_character(ord(c))) else "\ufffd" for c in text)


def _no_character(code: int) -> bool:
    return 0xD800 <= code <= 0xDFFF or code in (0xFFFE, 0xFFFF)
