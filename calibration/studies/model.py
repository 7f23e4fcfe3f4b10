"""The Calibration: everything one run found out about one model, computed once and shown by the notebook's cells."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ..choose import Costs, NoFloor, Rate, Recommendation, TopK
from ..choose.ceiling import Ceiling
from ..choose.segments import Segments
from ..labels import Labels
from ..params import RunParams
from ..scores import Bands, Scores
from .price import Price
from .rates import Outcome


@dataclass(frozen=True)
class Calibration:
    """One model, one corpus, one set of labels: where the gap is, which floor and top-K, and what they cost.

    Attributes
    ----------
    name : str
        The model's name as asked for, or the score file's.
    table : DataFrame
        The query table (see `scores.query_table`), probes included.
    choice : Recommendation or NoFloor
    top_k : TopK
    in_sample, held_out : Outcome
        At the recommended floor on the queries that chose it, and with each query at the floor of the folds without it.
        `held_out` is None when there is no floor.
    old : Outcome or None
        With the floor in use today.
    curves, surface, policies : DataFrame
        See `curves`, `surface` and `compare_policies`.
    price : Price
        Passages and tokens per query at every cap.
    grades : DataFrame
        Every passage judged above 0 and whether it is kept, see `passages_by_grade`.
    unjudged : Rate
        Share of the answerable queries' first `top_k` passages that nobody has judged.
    ceiling : Ceiling or None
        The noise ceiling and its growth with the corpus; None where far noise or the corpus size is unknown.
    segments : Segments or None
        Floors per kind of query; None without a floor or a second kind.
    collections : Segments or None
        The same per collection; None where no two are named.
    suspects : DataFrame
        Judgements worth a second reading.
    texts : mapping of id to text
        Query and passage texts, empty unless they were asked for.
    facts : mapping
        Plain JSON: source, model, corpus, versions, fingerprint, timings.
    caveats : tuple of str
        What the reader must know, as full sentences.
    """

    name: str
    params: RunParams
    labels: Labels
    scores: Scores
    table: pd.DataFrame
    bands: Bands
    costs: Costs
    choice: Recommendation | NoFloor
    top_k: TopK
    in_sample: Outcome
    held_out: Outcome | None
    old: Outcome | None
    curves: pd.DataFrame
    surface: pd.DataFrame
    policies: pd.DataFrame
    price: Price
    grades: pd.DataFrame
    unjudged: Rate
    ceiling: Ceiling | None
    segments: Segments | None
    collections: Segments | None
    suspects: pd.DataFrame
    texts: Mapping[str, str]
    facts: Mapping[str, Any]
    caveats: tuple[str, ...]

    @property
    def floor(self) -> float | None:
        """The recommended floor; None when the labels support none."""
        return self.choice.floor

    @property
    def status(self) -> str:
        """certified, uncertified or none."""
        return self.choice.status
