"""Contact sheets: images of a batch or of files, small, with labels and record ids."""

from .show import Sheet, show

__all__ = ["Sheet", "show"]
