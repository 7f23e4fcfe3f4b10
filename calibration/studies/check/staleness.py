"""What changed between two fingerprints, by name, and what each change means for the floor."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Consequence = Literal["stale", "recheck", "fine"]
"""stale: the floor must be chosen anew; recheck: the queries have to be asked again; fine: nothing depends on it."""

SAME_MODEL = 2e-3
"""How far two sketches of one model may lie apart (see `embed.identity`)."""
SAME_VECTOR = 5e-3
COSINE_SLACK = 0.02
LOWEST_COSINE = 0.9
"""Of a passage embedded again with its stored vector, where no earlier figure is known: titles and cuts cost some."""
RULES = ("metric", "score_transform", "normalisation", "threshold_inclusive")
"""Parts of the contract on which the meaning of the floor rests."""
DERIVED = {"embedding_version", "higher_is_better", "scale"}
"""Parts that follow from others: the model, the metric."""


@dataclass(frozen=True)
class Change:
    """One thing that is not as it was.

    Attributes
    ----------
    part : str
        model, corpus, labels, contract or policy.
    old, new : JSON value
    words : str
        A sentence.
    """

    part: str
    old: Any
    new: Any
    consequence: Consequence
    words: str


def compare_fingerprints(
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    old_contract: Mapping[str, Any],
    new_contract: Mapping[str, Any],
) -> list[Change]:
    """Name what changed, the gravest first; nothing when nothing did.

    Parameters
    ----------
    old, new : mapping
        `fingerprint` of two recommendations.
    old_contract, new_contract : mapping
        `contract` of the same two.
    """
    before, after = old.get("details") or {}, new.get("details") or {}
    names = _made_by(old, old_contract), _made_by(new, new_contract)
    model = _model(*names, before.get("model") or {}, after.get("model") or {})
    other_vectors = any(change.consequence == "stale" for change in model)  # of a model that is another, anyway
    corpus = before.get("corpus"), after.get("corpus") or {}
    changes = [
        *model,
        *_contract(old_contract, new_contract),
        *_corpus(*corpus, old.get("corpus") == new.get("corpus"), expect_vectors=not other_vectors),
        *_labels(old.get("labels"), new.get("labels"), before.get("labels") or {}, after.get("labels") or {}),
        *_policy(before.get("policy"), after.get("policy") or {}),
    ]
    order = ("stale", "recheck", "fine")
    return sorted(changes, key=lambda change: order.index(change.consequence))


def _made_by(fingerprint: Mapping[str, Any], contract: Mapping[str, Any]) -> str | None:
    """Digest of the model; of scores that came without one, what their contract declares."""
    return fingerprint.get("model") or contract.get("embedding_version")


def _model(old: str | None, new: str | None, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    if old == new and (not before or before.get("name") == after.get("name")):
        return []
    name, was = after.get("name"), before.get("name")
    for part, words in (
        ("name", "the model is {new}, the floor was chosen for {old}"),
        ("dimensions", "{name} gives {new} dimensions, it gave {old}"),
        ("query_prefix", "{name} puts {new!r} before a query, it was {old!r}"),
        ("passage_prefix", "{name} puts {new!r} before a passage, it was {old!r}"),
    ):
        if before.get(part) != after.get(part) and before:
            said = words.format(old=before.get(part), new=after.get(part), name=name)
            return [Change("model", before.get(part), after.get(part), "stale", f"{said}.")]
    apart = _apart(before.get("reference"), after.get("reference"))
    same_weights = before.get("weights_sha256") == after.get("weights_sha256")
    if apart is not None and apart <= SAME_MODEL and same_weights:
        if before.get("version") == after.get("version"):
            return []  # a rounding edge of a server that is not repeatable
        words = f"{name} comes in version {after.get('version')}, it was {before.get('version')}; it embeds as before."
        return [Change("model", before.get("version"), after.get("version"), "fine", words)]
    moved = [] if apart is None or apart <= SAME_MODEL else [f"its reference embeddings moved by up to {apart:.3g}"]
    how = "; ".join(moved + ([] if same_weights else ["the file of its weights is another"]))
    words = f"another model answers under the name {name or was or 'of the old one'}{': ' if how else ''}{how}."
    return [Change("model", old, new, "stale", words)]


def _apart(old: Any, new: Any) -> float | None:
    """Largest difference of two sketches; None where they cannot be compared."""
    if not old or not new or len(old) != len(new):
        return None
    return float(max(abs(a - b) for a, b in zip(old, new, strict=True)))


def _contract(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    changes = []
    for name in sorted({*old} & {*new} - DERIVED):  # what one version does not record cannot have changed
        if old.get(name) != new.get(name):
            grave: Consequence = "stale" if name in RULES else "recheck"
            words = f"{name.replace('_', ' ')} is {new.get(name)}, it was {old.get(name)}."
            changes.append(Change("contract", old.get(name), new.get(name), grave, words))
    return changes


def _corpus(
    before: Mapping[str, Any] | None, after: Mapping[str, Any], same: bool, *, expect_vectors: bool
) -> list[Change]:
    lowest = _embedded_again((before or {}).get("sample"), after.get("sample")) if expect_vectors else []
    if before is None:
        changed = [] if same else [Change("corpus", None, None, "recheck", "the corpus is not as it was.")]
        return [*lowest, *changed]
    changes = lowest + _sampled(before.get("sample"), after.get("sample"), expect_vectors=expect_vectors)
    for name, noun in (("documents", "passages"), ("table", "as table"), ("filter", "as filter")):
        if before.get(name) != after.get(name):
            words = f"the corpus has {_said(after.get(name))} {noun}, it had {_said(before.get(name))}."
            changes.append(Change("corpus", before.get(name), after.get(name), "recheck", words))
    if not changes and before.get("content") != after.get("content"):
        words = "the content of the corpus changed, its size did not."
        changes.append(Change("corpus", before.get("content"), after.get("content"), "recheck", words))
    return changes


def _embedded_again(old: Any, new: Any) -> list[Change]:
    """Compare stored vectors with today's model; a cosine that was low from the beginning is how things are."""
    found = ((new or {}).get("embedded_again") or {}).get("lowest")
    if found is None:
        return []
    known = ((old or {}).get("embedded_again") or {}).get("lowest")
    least = LOWEST_COSINE if known is None else known["cosine"] - COSINE_SLACK
    if found["cosine"] >= least:
        return []
    words = (
        f"passage {found['doc_id']}, embedded today, has cosine {found['cosine']:.2f} with its stored vector, "
        f"expected about {1.0 if known is None else known['cosine']:.2f}: another model made what is stored."
    )
    return [Change("model", None if known is None else known["cosine"], found["cosine"], "stale", words)]


def _sampled(old: Any, new: Any, *, expect_vectors: bool) -> list[Change]:
    """Compare the sampled passages: gone, saying something else, or saying the same with another vector."""
    passages, now = (old or {}).get("passages"), (new or {}).get("passages")
    if not passages or now is None:
        return []
    ids = [name for name in passages if name in now and passages[name] is not None]
    if not ids:
        return []
    gone = [name for name in ids if now[name] is None]
    kept = [name for name in ids if now[name] is not None]
    rewritten = [name for name in kept if _differ(passages[name][0], now[name][0])]
    moved = [name for name in kept if name not in rewritten and not _near(passages[name][1:], now[name][1:])]
    changes = []
    if moved and expect_vectors:
        most: Consequence = "stale" if 2 * len(moved) > len(kept) else "recheck"
        words = f"{len(moved)} of {len(ids)} sampled passages have other vectors under the same ids: {moved[0]} first."
        changes.append(Change("corpus", len(ids), len(moved), most, words))
    if gone or rewritten:
        most = "stale" if 2 * len(gone + rewritten) > len(ids) else "recheck"
        words = f"of {len(ids)} sampled passages {len(gone)} are gone and {len(rewritten)} say something else"
        words += "; the corpus was chunked anew or replaced." if most == "stale" else "."
        changes.append(Change("corpus", len(ids), len(gone + rewritten), most, words))
    return changes


def _differ(old: str | None, new: str | None) -> bool:
    return old is not None and new is not None and old != new


def _near(old: list[float], new: list[float]) -> bool:
    return all(abs(a - b) <= SAME_VECTOR * max(1.0, abs(a)) for a, b in zip(old, new, strict=True))


def _labels(old: str | None, new: str | None, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    changes = []
    if old != new:
        parts = [
            f"{after[name]} {name.replace('_', ' ')}, it was {before.get(name)}"
            for name in ("queries", "judgements", "rel_level", "unjudged")
            if name in after and before.get(name) != after[name]
        ]
        words = "the labels changed" + (f": {'; '.join(parts)}." if parts and before else " in their content.")
        changes.append(Change("labels", old, new, "recheck", words))
    if before and before.get("probes") != after.get("probes"):
        words = "the probe queries are others."
        changes.append(Change("labels", before.get("probes"), after.get("probes"), "recheck", words))
    return changes


def _policy(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> list[Change]:
    if before is None:
        return []
    return [
        Change("policy", before.get(name), after.get(name), "recheck", f"{name} is {after.get(name)}, the floor was "
               f"chosen with {before.get(name)}.")
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    ]  # fmt: skip


def _said(value: Any) -> str:
    return "none" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
