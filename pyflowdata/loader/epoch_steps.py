"""The division of the rows of an epoch into steps, and of the rows of a step among ranks.

The readers divide rows in C (csrc/dataset/batch.c).  This module computes the same numbers before
a batch is made.
"""

from __future__ import annotations

from typing import NamedTuple


class EpochSteps(NamedTuple):
    """The steps of each epoch.

    Positions count the rows of an epoch in its order, over all ranks, from 0 on.

    Attributes:
        records: Records of an epoch; -1: not known before its end.
        rows: Rows of all steps, without rows that only fill the last step; -1: not known.
        batch_size: Rows of a full step, of all ranks together.
        world_size: Number of ranks.
        last_batch: What happens to the last step: "short", "even", "drop", "pad" or "wrap".
        is_grouped: Whether each step has records of one group, so that any step may be short.
    """

    records: int
    rows: int
    batch_size: int
    world_size: int
    last_batch: str
    is_grouped: bool = False

    @property
    def is_known(self) -> bool:
        """Whether the rows of each step are known before it is made."""
        return self.rows >= 0

    @property
    def is_filled(self) -> bool:
        """Whether the last step has batch_size rows, however many records are left for it."""
        return self.last_batch in ("pad", "wrap")

    @property
    def num_steps(self) -> int:
        """Steps of an epoch, the same on every rank; needs `is_known`."""
        return -(-self.rows // self.batch_size)

    @property
    def left_out(self) -> int:
        """Records of an epoch that no step has; needs `is_known`."""
        return self.records - self.rows

    @property
    def last_rows(self) -> int:
        """Rows of the last step, of all ranks, without rows that only fill it; 0: batch_size, or
        not known.
        """
        return self.rows % self.batch_size if self.is_known else 0

    @property
    def empty_ranks(self) -> int:
        """How many ranks get no rows in the last step; 0 if that is not known."""
        if self.is_filled or not self.last_rows:
            return 0
        return max(0, self.world_size - self.last_rows)

    def rows_of(self, step: int, rank: int) -> range:
        """The positions of a rank's rows in a step; positions from `rows` on only fill it."""
        begin = step * self.batch_size
        end = begin + self.batch_size
        if end > self.rows and not self.is_filled:
            end = self.rows
        least, longer = divmod(end - begin, self.world_size)  # the first ranks have one row more
        begin += rank * least + min(rank, longer)
        return range(begin, begin + least + (rank < longer))

    def num_rows(self, rank: int) -> int:
        """Rows of a rank in all steps; needs `is_known`."""
        if not self.num_steps:
            return 0
        last = len(self.rows_of(self.num_steps - 1, rank))
        return (self.num_steps - 1) * (self.batch_size // self.world_size) + last

    def why_batches_differ(self) -> str:
        """Why a step may have fewer rows than others, and what to do; "": all steps have the same
        number.
        """
        if self.is_filled:
            return ""
        rule = f"last_batch='{self.last_batch}'"
        if self.is_grouped:
            return f"{rule} gives short batches of groups; take 'pad' or 'wrap'"
        if self.last_batch == "drop" or (self.is_known and not self.last_rows):
            return ""
        if self.records >= 0 and self.records % self.batch_size == 0:
            return ""
        return f"{rule} gives a short last batch; take 'pad', 'wrap' or 'drop'"

    def why_ranks_differ(self) -> str:
        """Why ranks may have different numbers of rows in a step; "": they always have the same
        number.
        """
        if self.world_size == 1 or self.is_filled:
            return ""
        if self.is_grouped or (self.records >= 0 and not self.is_known):
            return "its batches differ in size, and their rows may not divide"
        if self.last_batch in ("drop", "even"):
            return ""
        if not self.is_known:
            return f"the last batch may have rows that {self.world_size} ranks cannot share evenly"
        if self.last_rows % self.world_size == 0:
            return ""
        return (
            f"the last batch has {self.last_rows} of {self.batch_size} rows, which "
            f"{self.world_size} ranks cannot share evenly"
        )
