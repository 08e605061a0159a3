"""Comparisons with Numba need a Python that has it (GPUSIM_NUMBA_PYTHON); without one they are left out, and the summary says so."""

from __future__ import annotations

import os

import pytest

VARIABLE = "GPUSIM_NUMBA_PYTHON"
LEFT_OUT = pytest.StashKey[int]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    without = [] if os.environ.get(VARIABLE) else [item for item in items if item.path.name == "test_against_numba.py"]
    if without:
        items[:] = [item for item in items if item not in without]
        config.stash[LEFT_OUT] = len(without)
        config.hook.pytest_deselected(items=without)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if count := config.stash.get(LEFT_OUT, 0):
        setup = "python -m venv numba-env && numba-env/bin/pip install numba"
        terminalreporter.write_line(
            f"NOT RUN: {count} comparisons with Numba's simulator: {VARIABLE} is not set ({setup}, then name numba-env/bin/python).", yellow=True
        )
