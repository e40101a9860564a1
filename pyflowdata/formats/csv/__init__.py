"""CSV files: their writer, and the dialect, columns and types of a file."""

from .format import CSV as FORMAT
from .writer import CSVWriter

__all__ = ["FORMAT", "CSVWriter"]
