"""Assertions for the test suites of those who move a threshold: same accepted set, same ranking, same contract.

They raise AssertionError themselves, so they hold under `python -O` and with any test runner.
"""

from .accepted import assert_same_accepted
from .ranking import assert_same_ranking
from .table import assert_contract_of_table

__all__ = ["assert_contract_of_table", "assert_same_accepted", "assert_same_ranking"]
