"""Which option to take by the error one can least afford; "no measurable difference" is an answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...choose.paired import LEVEL
from .bench import Bench
from .designs import GLOBAL, HYBRID, RERANKED, TOP_K
from .measure import Option
from .paired import Floats, Tested, compare_all, visible

LOST, FALSE, CONTEXT_COST, UPKEEP = "lost answers", "false answers", "context cost", "upkeep"
SEEN = 10.0
"""Milliseconds from which an added latency is worth a word."""


@dataclass(frozen=True)
class Verdict:
    """What to take if one error is the one you can least afford.

    Attributes
    ----------
    best : tuple of str
        Options that the leading one does not measurably beat on this; the leading one first.
    worse : tuple of str
        Options that it does.
    take : str or None
        The simplest of `best`, unless another that is as good on this is measurably better on the other error; None
        where it was not measured.
    no_difference : bool
        Whether nothing measurable tells the options apart on this.
    tested : Tested or None
        The pairs behind it; None where nothing is left to chance.
    """

    concern: str
    best: tuple[str, ...]
    worse: tuple[str, ...]
    take: str | None
    no_difference: bool
    words: str
    tested: Tested | None


def verdicts(bench: Bench, options: Sequence[Option]) -> tuple[Verdict, ...]:
    """Judge the measured options by each concern; for each the chance of any false difference is below 5 %."""
    court = _Court(bench, [one for one in options if one.outcome is not None])
    return (court.lost(), court.false(), court.context(), court.upkeep())


class _Court:
    """All comparisons that verdicts need, made once; options in the order of what has to be built and maintained."""

    def __init__(self, bench: Bench, options: list[Option]) -> None:
        self.bench, self.options = bench, {one.name: one for one in options}
        self.names = sorted(self.options, key=self._machinery)
        self.hits = self._each(bench.answerable, lambda queries: queries["hit"])
        self.refused = self._each(bench.off_topic, lambda queries: queries["n_accepted"] == 0)
        self.probes = self._each(bench.probes_beside, lambda queries: queries["n_accepted"] == 0)
        self.kept = compare_all((self.hits, bench.answerable["group"]))
        beside = (self.probes, bench.probes_beside["group"]) if len(bench.probes_beside) else None
        self.quiet = compare_all((self.refused, bench.off_topic["group"]), beside)

    def _each(self, part: pd.DataFrame, good: Callable[[pd.DataFrame], pd.Series]) -> dict[str, Floats]:
        """Give 1.0 or 0.0 for every query of a part of the table, by option."""
        found = {}
        for name in self.names:
            queries = self.options[name].queries
            values = pd.Series(good(queries).to_numpy(dtype=np.float64), index=queries["query_id"])
            found[name] = values.reindex(part["query_id"]).to_numpy(dtype=np.float64)
        return found

    def _machinery(self, name: str) -> tuple[int, int]:
        """Order by what has to be built (a second index, then a model asked with each query), then by floors."""
        return {HYBRID: 1, RERANKED: 2}.get(name, 0), len(self.options[name].thresholds)

    def title(self, name: str) -> str:
        return self.options[name].title

    def lost(self) -> Verdict:
        return self._verdict(LOST, self.kept, self.hits, self.quiet, self._answers, "measurably fewer false answers")

    def false(self) -> Verdict:
        if not len(self.bench.off_topic):
            words = "Not measured: no off-topic query is labelled and no probe was asked."
            return Verdict(FALSE, (), (), None, False, words, None)
        return self._verdict(
            FALSE, self.quiet, self.refused, self.kept, self._refusals, "measurably fewer lost answers"
        )

    def _verdict(
        self,
        concern: str,
        tested: Tested,
        good: Mapping[str, Floats],
        other: Tested,
        count: Callable[[str], str],
        gain: str,
    ) -> Verdict:
        best, worse = self._split(tested, lambda name: float(good[name].sum()))
        instead: dict[str, list[str]] = {}
        for name in best:
            rivals = [rival for rival in best if good[rival].sum() >= good[name].sum() and other.beats(rival, name)]
            if rivals:
                instead[name] = rivals
        # comparisons of pairs may run in a circle; then the leading one it is
        take = next((name for name in self.names if name in best and name not in instead), best[0])
        what = "answers kept" if concern == LOST else f"{self._far()} refused"
        counts = {name: f"{self.title(name)} {count(name)}" for name in self.names}
        if worse:
            said = f"Best by {what}: {_listed([counts[name] for name in best])}"
            said += f", with no measurable difference between them{_from(tested)}." if len(best) > 1 else "."
            said += f" Measurably worse: {_listed([counts[name] for name in worse])}."
        else:
            said = f"No measurable difference on these labels in {what}: {_listed([counts[name] for name in best])}"
            said += f"{_from(tested)}."
        passed_over = [name for name in instead if self.names.index(name) < self.names.index(take)]
        said += f" Take {self.title(take)}, {self._reason(best, instead)}."
        if passed_over:
            rivals = [take if take in instead[name] else instead[name][0] for name in passed_over]
            better = _listed(list(dict.fromkeys(self.title(name) for name in rivals)))
            left = _listed([self.title(name) for name in passed_over])
            said += f" Not {left}: {better} is as good on this, with {gain}."
        said += self._price(take, concern) + self._slower(take)
        return Verdict(concern, tuple(best), tuple(worse), take, not worse and len(best) > 1, said, tested)

    def context(self) -> Verdict:
        """Weigh what is sent on; an option that measurably loses answers is no saving."""
        answerable, off_topic = self.bench.answerable, self.bench.off_topic
        both = pd.concat([answerable, off_topic], ignore_index=True)
        share = self.bench.costs.off_topic_share if len(off_topic) else 0.0
        sent = {name: self.options[name].sent.reindex(both["query_id"]).to_numpy(np.float64) for name in self.names}
        weights = np.where(np.arange(len(both)) < len(answerable), (1 - share) / max(len(answerable), 1), 0.0)
        weights[len(answerable) :] = share / max(len(off_topic), 1)
        mean = {name: float((weights * values).sum()) for name, values in sent.items()}
        unit = "Tokens" if any(one.context.tokens is not None for one in self.options.values()) else "Passages"
        allowed, losing = self._split(self.kept, lambda name: float(self.hits[name].sum()))
        tested = compare_all(({name: -sent[name] for name in allowed}, both["group"]))
        best, worse = self._split(tested, lambda name: -mean[name], allowed)
        take = next(name for name in self.names if name in best)
        counts = {
            name: f"{self.title(name)} {format(mean[name], ',.0f' if unit == 'Tokens' else '.1f')}"
            for name in self.names
        }
        said = f"{unit} a query, with {share:.0%} of the traffic off-topic: "
        said += _listed([counts[name] for name in sorted(allowed, key=lambda name: mean[name])]) + "."
        if losing:
            said += f" No saving, since answers are measurably lost: {_listed([counts[name] for name in losing])}."
        if not worse and len(allowed) > 1:
            said += f" No measurable difference on these labels{_from(tested)}."
        said += f" Take {self.title(take)}, {self._reason(best, {})}.{self._slower(take)}"
        return Verdict(CONTEXT_COST, tuple(best), tuple(worse), take, not worse and len(best) > 1, said, tested)

    def upkeep(self) -> Verdict:
        """Take K alone, or one floor where it pays; and say what more upkeep would measurably buy."""
        take = TOP_K
        said = "no number but K has to be maintained"
        if GLOBAL in self.options and self.quiet.beats(GLOBAL, TOP_K) and self._cheaper(GLOBAL, TOP_K):
            take = GLOBAL
            said = (
                f"one number, and measurably fewer false answers than {self.title(TOP_K)} (refused: "
                f"{self._refusals(GLOBAL)}, against {self._refusals(TOP_K)}); it keeps "
                f"{self._answers(GLOBAL)} answers, against {self._answers(TOP_K)}"
            )
        counts = [f"{self.title(name)} {self._maintained(name)}" for name in self.names]
        words = f"To maintain: {_listed(counts)}. Take {self.title(take)}: {said}.{self._more(take)}"
        rest = tuple(name for name in self.names if self.names.index(name) > self.names.index(take))
        return Verdict(UPKEEP, (take,), rest, take, False, words, None)

    def _more(self, take: str) -> str:
        bought = []
        for name in self.names[self.names.index(take) + 1 :]:
            if self.kept.beats(name, take):
                bought.append(
                    f"{self.title(name)} keeps more answers ({self._answers(name)}, against {self._answers(take)})"
                )
            if self.quiet.beats(name, take):
                bought.append(
                    f"{self.title(name)} refuses more ({self._refusals(name)}, against {self._refusals(take)})"
                )
        if not bought:
            return " Nothing that takes more upkeep is measurably better on these labels."
        return f" What more upkeep would measurably buy: {_listed(bought)}."

    def _split(
        self, tested: Tested, score: Callable[[str], float], among: Sequence[str] | None = None
    ) -> tuple[list[str], list[str]]:
        """Give the options that the leading one does not measurably beat, and those that it does."""
        names = self.names if among is None else [name for name in self.names if name in among]
        leader = max(names, key=score)  # the first, and so the simplest, of equals
        worse = [name for name in names if tested.beats(leader, name)]
        best = [name for name in names if name not in worse]
        return sorted(best, key=score, reverse=True), sorted(worse, key=score, reverse=True)

    def _cheaper(self, one: str, other: str) -> bool:
        costs = self.options[one].cost, self.options[other].cost
        return costs[0] is not None and costs[1] is not None and costs[0] < costs[1]

    def _maintained(self, name: str) -> str:
        n = len(self.options[name].thresholds)
        said = "no floor" if n == 0 else "1 floor" if n == 1 else f"{n} floors"
        return said + {RERANKED: " and a reranker", HYBRID: " and a second index"}.get(name, "")

    def _reason(self, best: Sequence[str], instead: Mapping[str, object]) -> str:
        return "the simplest of them" if len(best) - len(instead) > 1 else "the one left" if instead else "the best"

    def _answers(self, name: str) -> str:
        return f"{self.hits[name].sum():.0f} of {self.kept.n}"

    def _refusals(self, name: str) -> str:
        said = f"{self.refused[name].sum():.0f} of {self.quiet.n}"
        probes = self.probes[name]
        return f"{said} (probes {probes.sum():.0f} of {len(probes)})" if len(probes) else said

    def _price(self, take: str, concern: str) -> str:
        """Say how the option does on the other error, and on questions whose answer is missing."""
        if concern == LOST:
            refused = f" {self._far().capitalize()} refused: {self._refusals(take)}." if self.quiet.n else ""
            return refused + self._length(take)
        said = f" It keeps {self._answers(take)} answers; {self.title(TOP_K)} keeps {self._answers(TOP_K)}."
        said += self._length(take)
        missing = self.bench.missing_answer
        if len(missing):
            answered = self._each(missing, lambda queries: queries["n_accepted"] > 0)
            listed = _listed([f"{self.title(name)} {answered[name].sum():.0f}" for name in self.names])
            said += f" Questions whose answer is missing are another matter: of {len(missing)}, answered by {listed}."
        return said

    def _length(self, take: str) -> str:
        """Say how much longer or shorter a context is than that of top-K alone."""
        own, all_of_it = (self.options[name].context.tokens for name in (take, TOP_K))
        if take == TOP_K or own is None or all_of_it is None:
            return ""
        return f" It sends {own:,.0f} tokens an answerable query; {self.title(TOP_K)} sends {all_of_it:,.0f}."

    def _slower(self, take: str) -> str:
        latency = self.options[take].latency
        if latency is None or latency.median < SEEN:
            return ""
        return f" It adds about {milliseconds(latency.median)} to a query on this machine."

    def _far(self) -> str:
        return "off-topic questions" if self.bench.far_rate.endswith("off_topic") else "probe questions"


def milliseconds(value: float) -> str:
    """Give a time as people say it.

    Examples
    --------
    >>> milliseconds(0.0), milliseconds(0.22), milliseconds(84.2), milliseconds(2604.0)
    ('0 ms', '0.2 ms', '84 ms', '2.6 s')
    """
    if value >= 1000:
        return f"{value / 1000:.1f} s"
    return f"{value:.1f} ms" if 0 < value < 10 else f"{value:.0f} ms"


def _listed(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def _from(tested: Tested) -> str:
    """Say from how many queries on a difference would show."""
    return f" (one would show from {visible(LEVEL if tested.level is None else tested.level)} queries, all one way)"
