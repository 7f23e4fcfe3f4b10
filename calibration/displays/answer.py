"""The answer in one box: floor, top-K, and the promise with its denominators."""

import pandas as pd

from ..choose import NoFloor, Rate
from ..studies.model import Calibration
from ..studies.rates import FLOOR_MISS, INDEX_MISS, RANK_MISS
from .base import Display, style, unseen
from .tables import templates
from .texts import counted, exact, interval, out_of, percent, short, shorten
from .topk import why_this_cap

CAUSES = {
    INDEX_MISS: "never found",
    RANK_MISS: "ranked beyond top-K",
    FLOOR_MISS: "cut by the floor",
}
"""What loses an answer, in the order in which the first that applies is named."""
REDO = "Redo"
STATUS = {"certified": "Certified floor", "uncertified": "Floor, not certified", "none": "No floor"}


class AnswerDisplay(Display):
    """What to deploy, how far it is proven, and when to ask again."""

    title = "The answer"

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration

    def frame(self) -> pd.DataFrame:
        """One row per fact: what, value."""
        return pd.DataFrame(self._facts(), columns=["what", "value"])

    @property
    def caption(self) -> str:
        """The whole answer in sentences."""
        return " ".join([self._headline, *(said for name, said in self.parts.items() if name != REDO), self.redo])

    @property
    def parts(self) -> dict[str, str]:
        """The questions of somebody who has to decide, each with its answer in a sentence or two."""
        answers = {
            "Keeps": self._kept(),
            "How sure": " ".join(said for said in (self._unseen(), self._certificate()) if said),
            "Costs": " ".join(said for said in (self._lost(), self._answered()) if said),
            "Do next": self._next(),
            REDO: f"W{self.redo.removeprefix('Redo w')}",
        }
        return {name: said for name, said in answers.items() if said}

    @property
    def redo(self) -> str:
        """When this answer stops being one."""
        ceiling, floor = self.calibration.ceiling, self.calibration.floor
        until = None if ceiling is None or floor is None else ceiling.holds_until(floor)
        known = until is not None and ceiling is not None and until > ceiling.corpus_size
        passages = f", or the corpus passes about {float(f'{until:.2g}'):,.0f} passages" if known else ""
        blind = ceiling is not None and ceiling.growth is None
        rise = " Noise rises as the corpus grows; how fast, so few passages cannot tell." if blind else ""
        return f"Redo when the model, the chunking or the corpus changes{passages}.{rise}"

    def _next(self) -> str:
        found = self.calibration
        if found.floor is None:
            return f"Use the {found.top_k.value} best passages and cut nothing."
        above = "at or above" if found.scores.contract.threshold_inclusive else "above"
        return (
            f"Of the {found.top_k.value} best passages, use those {above} the floor. The number and the comparison for "
            "each system are in the deploy sheet, near the end."
        )

    @property
    def _headline(self) -> str:
        found = self.calibration
        model = shorten(found.name, 80)
        if found.floor is None:
            return f"No floor for {model}: top-K = {found.top_k.value} alone."
        word = "certified" if found.status == "certified" else "not certified"
        return f"Floor {exact(found.floor)} ({word}) and top-K = {found.top_k.value} for {model}."

    def _kept(self) -> str:
        rate = self.calibration.in_sample.rates["hit_rate"]
        if rate.denominator == 0:
            return "No answerable question is labelled, so nothing is known of what is kept."
        return (
            f"{rate.numerator:g} of the {rate.denominator} answerable questions (their answer is in the corpus) keep a "
            "relevant passage."
        )

    def _unseen(self) -> str:
        """Say what to expect of other questions."""
        found = self.calibration
        rate = found.in_sample.rates["hit_rate"]
        if rate.denominator == 0:
            return ""
        if found.floor is None:
            return f"95% interval of what is kept: {interval(rate)}."
        held_out = unseen(found)
        if held_out is None:
            return (
                f"The same questions chose the floor, so this flatters it [{interval(rate)}]; there are too few to "
                "hold some out."
            )
        kept = held_out.rates["hit_rate"]
        said = f"The same questions chose the floor. Floors chosen the same way kept {out_of(kept)} unseen ones"
        if found.status == "certified":
            # a rate of other floors under another cap: beside the promise it would read as its refutation
            return f"{said} [{interval(kept)}], by floors that may differ from this one."
        return f"{said} [{interval(kept)}]: expect that of new questions."

    def _lost(self) -> str:
        """Count the lost answers by what loses them."""
        queries = self.calibration.in_sample.queries
        asked = queries[(queries["answerability"] == "answerable") & ~queries["probe"]]
        lost = asked[~asked["hit"]]
        if len(asked) == 0:
            return ""
        if len(lost) == 0:
            return "No answer is lost."
        counts = lost["cause"].value_counts()
        causes = [f"{counts[name]} {words}" for name, words in CAUSES.items() if name in counts]
        if self.calibration.floor is not None and FLOOR_MISS not in counts:
            causes.append("none cut by the floor")
        return f"{counted(len(lost), 'answer')} of {len(asked)} lost: {', '.join(causes)}."

    def _answered(self) -> str:
        """Count what gets passages and should not."""
        rates = self.calibration.in_sample.rates
        parts = [
            _false(rates["false_answer_rate_off_topic"], "off-topic question"),
            _false(rates["false_answer_rate_probes"], "probe question", note=" (bundled, off any topic)"),
            _false(rates["false_answer_rate_missing_answer"], "on-topic question", note=" whose answer is missing"),
        ]
        known = [part for part in parts if part]
        return f"Answered wrongly: {'; '.join(known)}." if known else "No off-topic question was measured."

    def _certificate(self) -> str:
        promise = self.calibration.choice.certificate
        if promise is None or self.calibration.floor is None:
            return ""
        share = f"at least {percent(promise.target)} of new questions keep a relevant passage"
        if not promise.certified or promise.bound is None:
            return (
                f"Not certified: the labels do not prove, with {percent(promise.confidence)} confidence, that {share}."
            )
        top_k = self.calibration.top_k.value
        cap = (
            "" if promise.top_k is None or promise.top_k == top_k else f" where the cap is {promise.top_k}, not {top_k}"
        )
        return (
            f"Certified: with {percent(promise.confidence)} confidence {share} at this floor (at any up to "
            f"{short(promise.bound)}){cap}; shown on {counted(promise.n, 'group')} of like questions."
        )

    def _facts(self) -> list[tuple[str, str]]:
        found = self.calibration
        rows = [("model", shorten(found.name, 80)), ("status", STATUS[found.status])]
        rows.append(("floor", "none" if found.floor is None else exact(found.floor)))
        rows.append(("top-K", f"{found.top_k.value} ({why_this_cap(found.top_k)})"))
        if isinstance(found.choice, NoFloor):
            rows += [("reason", shorten(found.choice.reason, 600)), ("needed", shorten(found.choice.needed, 600))]
        rows.append(("scale", found.scores.contract.scale))
        rows.append(("corpus", self._corpus()))
        if "date" in found.facts:
            rows.append(("date", shorten(found.facts["date"])))
        return rows

    def _corpus(self) -> str:
        scores = self.calibration.scores
        noun = "document" if scores.level == "document" else "passage"
        if scores.n_documents is None:
            return "unknown: only candidate lists were given"
        return counted(scores.n_documents, noun)

    def _repr_html_(self) -> str:
        found = self.calibration
        choice = found.choice
        return (
            templates()
            .get_template("answer.html")
            .render(
                style=style(),
                status=STATUS[found.status],
                kind=found.status,
                model=shorten(found.name, 80),
                floor=None if found.floor is None else exact(found.floor),
                scale=found.scores.contract.scale,
                top_k=found.top_k.value,
                cap=why_this_cap(found.top_k),
                reason=shorten(choice.reason, 600) if isinstance(choice, NoFloor) else "",
                needed=shorten(choice.needed, 600) if isinstance(choice, NoFloor) else "",
                parts=self.parts,
                corpus=self._corpus(),
                date=shorten(found.facts["date"]) if "date" in found.facts else "",
            )
        )


def _false(answered: Rate, noun: str, *, note: str = "") -> str:
    if answered.denominator == 0:
        return ""
    return f"{answered.numerator:g} of {counted(answered.denominator, noun)}{note}"
