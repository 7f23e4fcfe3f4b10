"""What the notebooks show: one display per file, each with its numbers, its words and its picture."""

from .answer import AnswerDisplay
from .bands import BandsDisplay
from .base import Display, FigureDisplay, TableDisplay
from .caveats import CaveatsDisplay
from .ceiling import CeilingDisplay
from .changes import ChangesDisplay
from .collapse import CollapseDisplay
from .comparison import ComparisonDisplay
from .conversions import ConversionsDisplay
from .curves import CurvesDisplay
from .deploy import DeployDisplay
from .depth import DepthDisplay
from .explorer import ExplorerDisplay
from .exporting import export
from .failures import FailuresDisplay
from .gap import GapDisplay
from .gatedesigns import GateDesignsDisplay
from .gates import GatesDisplay
from .grades import GradesDisplay
from .legs import LegsDisplay
from .migration import MigrationDisplay
from .migration_flips import FlipsDisplay, WrongMigrationsDisplay
from .migration_positions import PositionsDisplay
from .modelbands import ModelBandsDisplay
from .moved import MovedQueriesDisplay, MovedRatesDisplay
from .noise import NoiseDisplay
from .option_errors import OptionErrorsDisplay
from .option_identifiers import OptionIdentifiersDisplay
from .option_rates import OptionRatesDisplay
from .option_upkeep import OptionUpkeepDisplay
from .option_verdicts import OptionPairsDisplay, OptionVerdictsDisplay
from .policies import PoliciesDisplay
from .ranges import RangesDisplay
from .rates import RatesDisplay
from .reproduce import ReproduceDisplay
from .risk import RiskCoverageDisplay
from .run_folder import read_run
from .segments import SegmentsDisplay
from .separation import SeparationDisplay
from .shifts import BandShiftDisplay
from .surface import SurfaceDisplay
from .suspects import SuspectsDisplay
from .topk import TopKDisplay

__all__ = [
    "AnswerDisplay",
    "BandShiftDisplay",
    "BandsDisplay",
    "CaveatsDisplay",
    "CeilingDisplay",
    "ChangesDisplay",
    "CollapseDisplay",
    "ComparisonDisplay",
    "ConversionsDisplay",
    "CurvesDisplay",
    "DeployDisplay",
    "DepthDisplay",
    "Display",
    "ExplorerDisplay",
    "FailuresDisplay",
    "FigureDisplay",
    "FlipsDisplay",
    "GapDisplay",
    "GateDesignsDisplay",
    "GatesDisplay",
    "GradesDisplay",
    "LegsDisplay",
    "MigrationDisplay",
    "ModelBandsDisplay",
    "MovedQueriesDisplay",
    "MovedRatesDisplay",
    "NoiseDisplay",
    "OptionErrorsDisplay",
    "OptionIdentifiersDisplay",
    "OptionPairsDisplay",
    "OptionRatesDisplay",
    "OptionUpkeepDisplay",
    "OptionVerdictsDisplay",
    "PoliciesDisplay",
    "PositionsDisplay",
    "RangesDisplay",
    "RatesDisplay",
    "ReproduceDisplay",
    "RiskCoverageDisplay",
    "SegmentsDisplay",
    "SeparationDisplay",
    "SurfaceDisplay",
    "SuspectsDisplay",
    "TableDisplay",
    "TopKDisplay",
    "WrongMigrationsDisplay",
    "export",
    "read_run",
]
