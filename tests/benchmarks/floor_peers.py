"""Other tools' ways to a threshold, on the same scores: the packages themselves where they can be imported."""

import contextlib
import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from calibration.choose import POLICIES, Costs, empirical_cost

Floats = npt.NDArray[np.float64]
Choose = Callable[[Floats, Floats, Costs], float | None]
SHARE, CONFIDENCE = 0.9, 0.9


@dataclass(frozen=True)
class Peer:
    """A rule under its name; one that knows no costs is asked once for all of them, a slow one on fewer splits."""

    name: str
    choose: Choose
    knows_costs: bool = False
    slow: bool = False


def empirical(relevant: Floats, noise: Floats, costs: Costs) -> float:
    """Observed score of least empirical cost (the weighted error rate), or just above them all."""
    candidates = np.unique(np.concatenate([relevant, noise]))
    candidates = np.append(candidates, candidates[-1] + 1e-6)
    return float(min(candidates, key=lambda floor: empirical_cost(relevant, noise, float(floor), costs)))


def peers() -> tuple[list[Peer], list[str]]:
    """Collect the formulas and the packages that import; name those that do not."""
    found = [Peer("empirical cost (formula)", empirical, knows_costs=True)]
    found += [
        Peer(f"{name} (formula)", partial(_policy, policy))
        for name, policy in POLICIES.items()
        if name != "top-K only" and "gap" not in name
    ]
    found.append(Peer("CONFLARE 5th percentile (formula)", lambda r, f, c: float(np.percentile(r, 5))))
    missing = []
    for package, load in _PACKAGES.items():
        try:
            with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                found += load()
        except ImportError as error:
            missing.append(f"{package} ({error})")
    return found, missing


def _policy(policy: Callable[[Floats, Floats], float | None], r: Floats, f: Floats, costs: Costs) -> float | None:
    return policy(r, f)


def _pairs(relevant: Floats, noise: Floats) -> tuple[Floats, npt.NDArray[np.int64]]:
    return np.concatenate([relevant, noise]), np.repeat([1, 0], [len(relevant), len(noise)])


def _bob() -> list[Peer]:
    from bob.measure import eer_threshold, min_weighted_error_rate_threshold

    def weighted(relevant: Floats, noise: Floats, costs: Costs) -> float:
        share = costs.false_weight / (costs.false_weight + costs.miss_weight)
        return float(min_weighted_error_rate_threshold(noise, relevant, share))

    return [
        Peer("bob.measure min weighted error", weighted, knows_costs=True),
        Peer("bob.measure equal error rate", lambda r, f, c: float(eer_threshold(f, r))),
    ]


def _sentence_transformers() -> list[Peer]:
    from sentence_transformers.sentence_transformer.evaluation import BinaryClassificationEvaluator as Evaluator

    def best_f1(relevant: Floats, noise: Floats, costs: Costs) -> float:
        scores, positive = _pairs(relevant, noise)
        return float(Evaluator.find_best_f1_and_threshold(scores, positive, True)[3])

    return [Peer("sentence-transformers max F1", best_f1)]


def _sklearn() -> list[Peer]:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.metrics import fbeta_score, make_scorer
    from sklearn.model_selection import StratifiedKFold, TunedThresholdClassifierCV

    class Identity(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        def fit(self, x: Any, y: Any) -> "Identity":
            self.classes_ = np.array([0, 1])
            return self

        def decision_function(self, x: Any) -> Any:
            return x[:, 0]

    def cost(truth: Any, said: Any, miss: float, false: float) -> float:
        return -miss * float(np.mean(said[truth == 1] == 0)) - false * float(np.mean(said[truth == 0] == 1))

    def tuned(relevant: Floats, noise: Floats, costs: Costs, *, by_cost: bool) -> float:
        scores, positive = _pairs(relevant, noise)
        scorer = (
            make_scorer(cost, miss=costs.miss_weight, false=costs.false_weight)
            if by_cost
            else make_scorer(fbeta_score, beta=2)
        )
        search = TunedThresholdClassifierCV(
            Identity(), scoring=scorer, response_method="decision_function", thresholds=np.unique(scores),
            cv=StratifiedKFold(5, shuffle=True, random_state=0),
        )  # fmt: skip
        return float(search.fit(scores[:, None], positive).best_threshold_)

    return [
        Peer("scikit-learn TunedThreshold, cost", partial(tuned, by_cost=True), knows_costs=True, slow=True),
        Peer("scikit-learn TunedThreshold, F2", partial(tuned, by_cost=False), slow=True),
    ]


def _mapie() -> list[Peer]:
    from mapie.risk_control import BinaryClassificationController

    def recall(relevant: Floats, noise: Floats, costs: Costs) -> float | None:
        scores, positive = _pairs(relevant, noise)
        low, high = float(scores.min()), float(np.ptp(scores)) or 1.0

        def probability(x: Any) -> Any:  # the package wants numbers from 0 to 1
            share = np.clip((x[:, 0] - low) / high, 0.0, 1.0)
            return np.column_stack([1 - share, share])

        controller = BinaryClassificationController(
            probability, risk="recall", target_level=SHARE, confidence_level=CONFIDENCE,
            list_predict_params=np.linspace(0.99, 0.01, 99)[::-1], fwer_method="fixed_sequence",
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            best = controller.calibrate(scores[:, None], positive).best_predict_param
        return None if best is None else low + high * float(best)

    return [Peer("MAPIE recall control", recall, slow=True)]


def _rag_eval_gate() -> list[Peer]:
    from rag_eval_gate.conformal import conformal_quantile

    def quantile(relevant: Floats, noise: Floats, costs: Costs) -> float | None:
        bound = conformal_quantile([1.0 - score for score in relevant.tolist()], 1.0 - SHARE)
        return None if not np.isfinite(bound) else 1.0 - float(bound)

    return [Peer("rag-eval-gate conformal 90 %", quantile)]


def _redis() -> list[Peer]:
    from redis_retrieval_optimizer.threshold_optimization.cache import _eval_cache, _get_best_threshold
    from redis_retrieval_optimizer.threshold_optimization.schema import LabeledData
    from redis_retrieval_optimizer.threshold_optimization.utils import _format_qrels

    def cache_f1(relevant: Floats, noise: Floats, costs: Costs) -> float:
        scores, positive = _pairs(relevant, noise)
        data = [
            LabeledData(query=str(at), query_match="a" if is_match else "")
            for at, is_match in enumerate(positive.tolist())
        ]
        for item, score in zip(data, scores.tolist(), strict=True):
            item.response = [{"id": "a", "vector_distance": 1.0 - score}]
        qrels = _format_qrels(data)
        found = {t: {"score": _eval_cache(data, t, qrels, "f1")} for t in np.linspace(0.01, 0.8, 60)}
        return float(np.nextafter(1.0 - _get_best_threshold(found), 2.0))  # it keeps distances strictly below

    return [Peer("redis-retrieval-optimizer cache F1", cache_f1, slow=True)]


def _pramana() -> list[Peer]:
    from types import SimpleNamespace

    from pramana.retriever import CalibrationError, calibrate_threshold

    def midpoint(relevant: Floats, noise: Floats, costs: Costs) -> float | None:
        scores, positive = _pairs(relevant, noise)
        by_query = {str(at): score for at, score in enumerate(scores.tolist())}
        stub = SimpleNamespace(top_similarity=by_query.__getitem__)
        try:
            return float(calibrate_threshold(stub, [(str(at), bool(y)) for at, y in enumerate(positive.tolist())]))
        except CalibrationError:
            return None

    return [Peer("pramana midpoint", midpoint)]


def _cairn() -> list[Peer]:
    from cairn.calibrate import conformal as cairn

    def prefix(relevant: Floats, noise: Floats, costs: Costs) -> float | None:
        scores, positive = _pairs(relevant, noise)
        records = list(zip(scores.tolist(), positive.astype(bool).tolist(), strict=True))
        return float(cairn.threshold_for(records, 0.2, 0.1).threshold)  # above every score where nothing is safe

    return [Peer("cairn risk below 20 %", prefix)]


_PACKAGES: dict[str, Callable[[], list[Peer]]] = {
    "bob.measure": _bob,
    "sentence-transformers": _sentence_transformers,
    "scikit-learn": _sklearn,
    "mapie": _mapie,
    "retrieval-eval-gate": _rag_eval_gate,
    "redis-retrieval-optimizer": _redis,
    "pramana-rag": _pramana,
    "cairn-pipeline": _cairn,
}
