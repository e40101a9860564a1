"""Whether the first row of a CSV file has the names of the columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...errors import shown

_YEARS = range(1800, 2101)
_SHOWN = 3  # cells of a row in a note


def is_header(rows: Sequence[Sequence[str]], missing: Collection[str]) -> bool:
    """Whether the first row has names, by what the others have in the same columns.

    Names have no numbers among them, mostly.  Some may be numbers where

    - one that is text stands over numbers, or one that is a number over text;
    - they are years, one after another, and what they stand over is not;
    - they count from 0 after an empty name, as pandas writes them.

    Args:
        rows: The first ones, each with a cell at least.
        missing: The cells that count as missing values, besides empty ones.
    """
    first = [cell.strip() for cell in rows[0]]
    if not any(map(_is_number, first)):
        return any(first)
    columns = [_Column(rows[1:], place, missing) for place in range(len(first))]
    if first[0] == "" and first[1:] == [str(number) for number in range(len(first) - 1)]:
        return len(first) > 2 and columns[0].is_full
    if not _are_like_names(first, missing) or not _has_digits_only(first):
        return False
    if _names_numbers(first, columns, missing):
        return True
    named = [(cell, column) for cell, column in zip(first, columns, strict=True) if _is_count(cell)]
    return _are_years(named) or (bool(named) and all(column.is_text for _, column in named))


def doubt(rows: Sequence[Sequence[str]], missing: Collection[str]) -> str:
    """What is to be said of a first row that is read as data, and looks a little like names; "" of
    others.  Arguments as of `is_header`."""
    first = [cell.strip() for cell in rows[0]]
    if not _are_like_names(first, missing) or len(rows) < 2:
        return ""
    columns = [_Column(rows[1:], place, missing) for place in range(len(first))]
    if not _has_digits_only(first) and not _names_numbers(first, columns, missing):
        return ""
    said = ",".join(first[:_SHOWN]) + (",..." if len(first) > _SHOWN else "")
    return f"no header was found; if the first row, {shown(said)}, has names, say header='yes'"


class _Column:
    """The cells of a column below the first row.

    Attributes:
        is_full: Whether there are some, and none is empty.
        is_numbers: Whether those that are not missing are numbers, and there are some.
        is_text: Whether there are several, and none is a number.
        has_years: Whether its numbers are years, and there are some.
    """

    def __init__(
        self, rows: Sequence[Sequence[str]], place: int, missing: Collection[str]
    ) -> None:
        cells = [row[place].strip() for row in rows if place < len(row)]
        there = [cell for cell in cells if cell and cell not in missing]
        numbers = [cell for cell in there if _is_number(cell)]
        self.is_full = bool(cells) and all(cells)
        self.is_numbers = bool(there) and len(numbers) == len(there)
        self.is_text = len(there) > 1 and not numbers
        self.has_years = bool(numbers) and all(map(_is_year, numbers))


def _are_like_names(first: Sequence[str], missing: Collection[str]) -> bool:
    """Whether all differ, and one at least is a word."""
    is_word = any(_is_name(cell) and cell not in missing for cell in first)
    return is_word and len(set(first)) == len(first)


def _names_numbers(
    first: Sequence[str], columns: Sequence[_Column], missing: Collection[str]
) -> bool:
    """Whether a word stands over numbers."""
    return any(
        column.is_numbers and _is_name(cell) and cell not in missing
        for cell, column in zip(first, columns, strict=True)
    )


def _are_years(named: Sequence[tuple[str, _Column]]) -> bool:
    """Whether names are years in steps of one size, over something else."""
    if len(named) < 2 or not all(_is_year(cell) for cell, _ in named):
        return False
    years = [int(cell) for cell, _ in named]
    steps = {after - before for before, after in zip(years, years[1:], strict=False)}
    return len(steps) == 1 and not any(column.has_years for _, column in named)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _is_count(cell: str) -> bool:
    return cell.isascii() and cell.isdecimal()


def _is_year(cell: str) -> bool:
    return _is_count(cell) and len(cell) == 4 and int(cell) in _YEARS


def _is_name(cell: str) -> bool:
    """Whether a cell may be a name in a row of which others are numbers."""
    is_word = cell[:1].isalpha() and cell.replace("_", "a").replace(" ", "a").isalnum()
    return is_word and not _is_number(cell)


def _has_digits_only(first: Sequence[str]) -> bool:
    """Whether the numbers of a row are such as names can be: counts, and words as nan."""
    return all(_is_count(cell) or cell[:1].isalpha() for cell in first if _is_number(cell))
