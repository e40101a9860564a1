"""Ops and sources that are written in Python: functions and objects that C calls."""

from . import row_groups, sources  # which C asks for samples
from .decoders import register_decoder

__all__ = ["register_decoder", "row_groups", "sources"]
