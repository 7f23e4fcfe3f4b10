"""The answer in one box: floor, top-K, and the promise with its denominators."""

import pandas as pd

from ..choose import NoFloor, Rate
from ..studies.model import Calibration
from .base import Display, style, unseen
from .tables import templates
from .texts import counted, exact, interval, out_of, percent, short, shorten
from .topk import why_this_cap

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
        return " ".join([self._headline, *self.promises, self.redo])

    @property
    def promises(self) -> list[str]:
        """What the floor and the cap keep and refuse, each with its denominator."""
        found = [self._kept(), self._refused(), self._certificate()]
        return [sentence for sentence in found if sentence]

    @property
    def redo(self) -> str:
        """When this answer stops being one."""
        ceiling, floor = self.calibration.ceiling, self.calibration.floor
        until = None if ceiling is None or floor is None else ceiling.holds_until(floor)
        known = until is not None and ceiling is not None and until > ceiling.corpus_size
        passages = f", or the corpus passes about {float(f'{until:.2g}'):,.0f} passages" if known else ""
        return f"Redo when the model, the chunking or the corpus changes{passages}."

    @property
    def _headline(self) -> str:
        found = self.calibration
        model = shorten(found.name, 80)
        if found.floor is None:
            return f"No floor for {model}: top-K = {found.top_k.value} alone."
        word = "certified" if found.status == "certified" else "not certified"
        return f"Floor {exact(found.floor)} ({word}) and top-K = {found.top_k.value} for {model}."

    def _kept(self) -> str:
        found = self.calibration
        rate = found.in_sample.rates["hit_rate"]
        if rate.denominator == 0:
            return "No answerable question is labelled, so nothing is known of what is kept."
        if found.floor is None:
            return f"With K = {found.top_k.value} alone, {out_of(rate)} answerable questions get a relevant passage."
        said = (
            f"At {exact(found.floor)} and K = {found.top_k.value}, {rate.numerator:g} of the {rate.denominator} "
            "answerable questions that chose it keep a relevant passage"
        )
        held_out = unseen(found)
        if held_out is None:
            return f"{said} [{interval(rate)}]; there are too few to hold some out."
        kept = held_out.rates["hit_rate"]
        return f"{said}; floors chosen the same way kept {out_of(kept)} unseen ones [{interval(kept)}]."

    def _refused(self) -> str:
        rates = self.calibration.in_sample.rates
        parts = [
            _refusal(rates["false_answer_rate_off_topic"], "off-topic question"),
            _refusal(rates["false_answer_rate_probes"], "off-topic probe question"),
            _refusal(rates["false_answer_rate_missing_answer"], "on-topic question", ending=" whose answer is missing"),
        ]
        known = [part for part in parts if part]
        return "Refused: " + "; ".join(known) + "." if known else "No off-topic question was measured."

    def _certificate(self) -> str:
        promise = self.calibration.choice.certificate
        if promise is None or self.calibration.floor is None:
            return ""
        if promise.certified and promise.bound is not None:
            return (
                f"With {percent(promise.confidence)} confidence, at least {percent(promise.target)} of such questions "
                f"keep a relevant passage at any floor up to {short(promise.bound)} with the cap at {promise.top_k} "
                f"({counted(promise.n, 'group')} of queries)."
            )
        return ""

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
                promises=self.promises,
                redo=self.redo,
                corpus=self._corpus(),
                date=shorten(found.facts["date"]) if "date" in found.facts else "",
            )
        )


def _refusal(false_answers: Rate, noun: str, *, ending: str = "") -> str:
    if false_answers.denominator == 0:
        return ""
    n = false_answers.denominator
    return f"{n - false_answers.numerator:g} of {counted(n, noun)}{ending}"
