"""The matrix in docs/how-to/trainers.md says what tests show: each cell has its test."""

import ast
from pathlib import Path

from support.paths import ROOT

PAGE = ROOT / "docs/how-to/trainers.md"
SHOWN = "exact"  # what a cell says that has a test


def cells_of_tests():
    """Row and column of each `pytest.mark.cell`, with the tests that have it."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            for mark in getattr(node, "decorator_list", ()):
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.cell":
                    cell = tuple(ast.literal_eval(each) for each in mark.args)
                    found.setdefault(cell, []).append(f"{path.name}::{node.name}")
    return found


def cells_of_page():
    """What each cell says, by row and column."""
    table = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    start = next(i for i, line in enumerate(table) if line.startswith("| trainer "))
    heads = [each.strip() for each in table[start].strip("|").split("|")]
    says = {}
    for line in table[start + 1 :]:
        row, *rest = (each.strip() for each in line.strip("|").split("|"))
        if len(rest) != len(heads) - 1:
            break
        says |= {(row.strip("`"), head): each for head, each in zip(heads[1:], rest)}
    return says


def test_each_exact_cell_has_a_test_and_each_test_a_cell():
    tests, page = cells_of_tests(), cells_of_page()
    assert len(page) >= 54
    exact = {cell for cell, says in page.items() if says.startswith(SHOWN)}
    assert exact == {*tests}
    assert all(says for says in page.values()), "an empty cell: say why it is not there"
