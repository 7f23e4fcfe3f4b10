"""What the notebooks show: one display per file, each with its numbers, its words and its picture."""

from .answer import AnswerDisplay
from .bands import BandsDisplay
from .base import Display, FigureDisplay, TableDisplay
from .caveats import CaveatsDisplay
from .ceiling import CeilingDisplay
from .comparison import ComparisonDisplay
from .conversions import ConversionsDisplay
from .curves import CurvesDisplay
from .failures import FailuresDisplay
from .gap import GapDisplay
from .modelbands import ModelBandsDisplay
from .noise import NoiseDisplay
from .policies import PoliciesDisplay
from .rates import RatesDisplay
from .reproduce import ReproduceDisplay
from .risk import RiskCoverageDisplay
from .segments import SegmentsDisplay
from .surface import SurfaceDisplay
from .suspects import SuspectsDisplay
from .topk import TopKDisplay

__all__ = [
    "AnswerDisplay",
    "BandsDisplay",
    "CaveatsDisplay",
    "CeilingDisplay",
    "ComparisonDisplay",
    "ConversionsDisplay",
    "CurvesDisplay",
    "Display",
    "FailuresDisplay",
    "FigureDisplay",
    "GapDisplay",
    "ModelBandsDisplay",
    "NoiseDisplay",
    "PoliciesDisplay",
    "RatesDisplay",
    "ReproduceDisplay",
    "RiskCoverageDisplay",
    "SegmentsDisplay",
    "SurfaceDisplay",
    "SuspectsDisplay",
    "TableDisplay",
    "TopKDisplay",
]
