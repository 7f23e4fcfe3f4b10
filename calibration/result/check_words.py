"""What a check found, for people: a diff for a terminal, and Markdown for a pull request."""

from collections.abc import Iterator

from ..choose import Rate
from ..studies.check.drift import AcceptedChange, RateChange
from ..studies.check.study import Check

SHOWN = 12
"""Queries listed of each sort; the rest are counted."""
SHOWN_DOCS = 6
MARKS = {"stale": "STALE", "recheck": "recheck", "fine": "fine"}


def check_text(check: Check) -> str:
    """Write a check as a diff for a terminal."""
    parts = (_head(check), _changes(check), _rates(check), _musts(check), _sets(check), _end(check))
    return "\n".join(plain_line(line) for part in parts for line in part)


def check_markdown(check: Check) -> str:
    """Write a check as a comment on a pull request."""
    floor = "no floor" if check.floor is None else f"floor `{check.floor!r}`"
    lines = [f"### Similarity floor: {check.status}", ""]
    lines += [f"{_md(_model(check))}, {floor}, top-K {check.top_k}, {check.n_queries:,} frozen queries.", ""]
    lines += [f"- **{MARKS[change.consequence]}** ({change.part}): {_md(change.words)}" for change in check.changes]
    lines += [f"- **FAILED**: {_md(reason)}" for reason in check.failures]
    lines += [f"- **warning**: {_md(words)}" for words in check.warnings]
    if check.rates:
        lines += ["", "| | before | now | worse | better | p | |", "| --- | --- | --- | ---: | ---: | ---: | --- |"]
        lines += [_md_row(rate) for rate in check.rates if rate.before.denominator or rate.failed]
    if check.accepted:
        lines += [
            "",
            f"<details><summary>Accepted sets changed: {len(check.accepted)} queries</summary>",
            "",
            "```diff",
        ]
        lines += [line.strip().replace("```", "'''") for line in _set_lines(check)]
        lines += ["```", "", "</details>"]
    return "\n".join(plain_line(line) for line in lines) + "\n"


def plain_line(text: str) -> str:
    """Keep foreign ids on one line and out of the terminal's control."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "\ufffd" for c in text)


def _head(check: Check) -> list[str]:
    floor = "no floor" if check.floor is None else f"floor {check.floor!r}"
    date = check.baseline.document.get("date")
    lines = [f"baseline  {check.baseline.path}" + (f" of {date}" if date else "") + f": {floor}, top-K {check.top_k}"]
    documents = "" if check.n_documents is None else f", {check.n_documents:,} passages"
    return [*lines, f"today     {_model(check)}, {check.n_queries:,} frozen queries{documents}", ""]


def _model(check: Check) -> str:
    return check.model or "scores as they are"


def _changes(check: Check) -> Iterator[str]:
    for change in check.changes:
        yield f"{MARKS[change.consequence]:<9} {change.part}: {change.words}"
    if not check.changes:
        yield "unchanged model, corpus, labels, contract, policy"


def _rates(check: Check) -> Iterator[str]:
    if not check.rates:
        yield "          today's scores are on another scale than the floor: nothing can be compared"
        return
    shown = [rate for rate in check.rates if rate.before.denominator or rate.failed]
    width = max((len(rate.measure.words) for rate in shown), default=0)
    yield ""
    for rate in shown:
        mark = "FAILED" if rate.failed else "ok" if rate.measure.gate else ""
        moved = f"{rate.why}" if rate.why else _moved(rate)
        line = f"{mark:<9} {rate.measure.words:<{width}}  {_rate(rate.before)} -> {_rate(rate.now)}"
        yield f"{line}  {moved}".rstrip()


def _moved(rate: RateChange) -> str:
    if rate.paired.worse == rate.paired.better == 0:
        return ""
    if rate.measure.good is None:
        return f"{rate.paired.better} more, {rate.paired.worse} fewer"
    return f"{rate.paired.worse} worse, {rate.paired.better} better"


def _musts(check: Check) -> Iterator[str]:
    for must in check.musts[:SHOWN]:
        yield f"{'FAILED' if must.broken else 'known':<9} query {must.query_id} must {must.must}: {must.words}"
    if len(check.musts) > SHOWN:
        yield f"          … and {len(check.musts) - SHOWN} more"


def _sets(check: Check) -> Iterator[str]:
    if not check.accepted:
        return
    near = sum(change.boundary for change in check.accepted)
    at = f", {near} of them within rounding of the floor" if near else ""
    yield ""
    yield f"accepted sets changed: {len(check.accepted)} of {check.n_queries:,} queries{at}"
    yield from _set_lines(check)


def _set_lines(check: Check) -> Iterator[str]:
    for change in check.accepted[:SHOWN]:
        yield f"          {_set(change)}"
    if len(check.accepted) > SHOWN:
        yield f"          … and {len(check.accepted) - SHOWN} more"


def _set(change: AcceptedChange) -> str:
    marks = [f"+{doc}" for doc in change.added] + [f"-{doc}" for doc in change.removed]
    rest = len(marks) - SHOWN_DOCS
    return f"{change.query_id}: " + " ".join(marks[:SHOWN_DOCS]) + (f" … and {rest} more" if rest > 0 else "")


def _end(check: Check) -> Iterator[str]:
    if check.warnings:
        yield ""
        yield from (f"warning   {words}" for words in check.warnings)
    yield ""
    if check.verdict:
        yield f"FAILED    {check.verdict}"
    yield f"result    {check.status}" + _advice(check)


def _advice(check: Check) -> str:
    if check.stale:
        return ": choose the floor anew with `calibrate run`, or take the change back"
    return "" if check.ok else ": take the change back, or accept today's state with --accept"


def _rate(rate: Rate) -> str:
    if rate.value is None:
        return "none asked"
    return f"{rate.numerator:g} of {rate.denominator} ({rate.value:.1%})"


def _md_row(rate: RateChange) -> str:
    mark = "**FAILED**" if rate.failed else "ok" if rate.measure.gate else ""
    cells = [
        rate.measure.words, _rate(rate.before), _rate(rate.now), str(rate.paired.worse), str(rate.paired.better),
        f"{rate.paired.p_value:.2g}", mark,
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _md(text: str) -> str:
    """Keep ids and names from being read as Markdown or HTML."""
    for character in "\\`*_<>|[]#@":
        text = text.replace(character, f"\\{character}" if character not in "<>@" else f"&#{ord(character)};")
    return text
