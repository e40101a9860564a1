"""Calls a Python function over rows: in a thread of the loader, and in a worker process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import shown
from ..nodes.row_types import RowType
from ..ragged import Ragged
from .tensors import Mismatch, checked, ragged_rows_of

Array = npt.NDArray[Any]
Rows = Array | list[Array] | Ragged  # of an input; a batch of ragged rows is a Ragged


class Runner:
    """A function, and how it is called.

    Attributes:
        function: The user's function.
        said: Its name, for messages.
        outputs: Names.
        from_host: Which of `rng` and `ids` it takes.
        is_batch: Whether it is called once with all rows.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        said: str,
        outputs: Sequence[str],
        from_host: Sequence[str],
        is_batch: bool,
    ) -> None:
        self.function = function
        self.said = said
        self.outputs = tuple(outputs)
        self.from_host = tuple(from_host)
        self.is_batch = is_batch

    def run(
        self,
        inputs: Sequence[Rows],
        num_rows: int,
        keywords: dict[str, Any],
        ids: Array | None,
        generator: Callable[[int], np.random.Generator] | None,
        types: Sequence[RowType],
        outputs: Sequence[Array | None],
        before_row: Callable[[int], None],
    ) -> list[list[Array]]:
        """Writes dense outputs in place, and returns the rows of the ragged ones.

        Args:
            ids, generator: What the function is given as `ids` and `rng`: all, and that of a row.
            types, outputs: Of the outputs; None in place of a ragged one.
            before_row: Called before each row.

        Raises:
            BaseException: What the function raised.  `pyflowdata_row` is the index of its row,
                where one call gets one row.
        """
        if self.is_batch:
            return self._run_batch(inputs, num_rows, keywords, ids, generator, types, outputs)
        ragged: list[list[Array]] = [[] for _ in types]
        for row in range(num_rows):
            before_row(row)
            try:
                if ids is not None:
                    keywords["ids"] = ids[row]
                if generator is not None:
                    keywords["rng"] = generator(row)
                found = self._outputs(self.function(*[rows[row] for rows in inputs], **keywords))
                for index, (name, declared) in enumerate(zip(self.outputs, types, strict=True)):
                    array, out = checked(name, found[index], declared, ()), outputs[index]
                    if out is None:
                        ragged[index].append(array)
                    else:
                        out[row] = array
            except BaseException as failure:
                BaseException.__setattr__(failure, "pyflowdata_row", row)
                raise
        return [rows for rows, out in zip(ragged, outputs, strict=True) if out is None]

    def _run_batch(
        self,
        inputs: Sequence[Rows],
        num_rows: int,
        keywords: dict[str, Any],
        ids: Array | None,
        generator: Callable[[int], np.random.Generator] | None,
        types: Sequence[RowType],
        outputs: Sequence[Array | None],
    ) -> list[list[Array]]:
        if ids is not None:
            keywords["ids"] = ids
        if generator is not None:
            keywords["rng"] = generator(0)
        found = self._outputs(self.function(*inputs, **keywords))
        ragged = []
        for name, value, declared, out in zip(self.outputs, found, types, outputs, strict=True):
            if out is None:
                ragged.append(ragged_rows_of(name, value, declared, num_rows))
            else:
                out[...] = checked(name, value, declared, (num_rows,))
        return ragged

    def _outputs(self, found: Any) -> Sequence[Any]:
        """What the function returned, one for each output."""
        names = self.outputs
        if isinstance(found, Mapping):
            if set(found) != set(names):
                raise Mismatch(
                    f"{self.said}() returned the outputs {', '.join(map(str, found))}; declared "
                    f"are {', '.join(names)}"
                )
            return [found[name] for name in names]
        if len(names) == 1:
            return (found,)
        if not isinstance(found, (tuple, list)) or len(found) != len(names):
            what = f"{len(found)} values" if isinstance(found, (tuple, list)) else shown(found)
            raise Mismatch(
                f"{self.said}() returned {what}; {len(names)} outputs are declared: return "
                f"({', '.join(names)})"
            )
        return found


class Generators:
    """Makes one NumPy generator, and sets it for one row after the other.

    To make one costs as much as many numbers.
    """

    def __init__(self) -> None:
        start, self._key = np.zeros(4, np.uint64), np.zeros(2, np.uint64)
        self._state = {
            "bit_generator": "Philox",
            "state": {"counter": start, "key": self._key},
            "buffer": start,
            "buffer_pos": 4,
            "has_uint32": 0,
            "uinteger": 0,
        }
        self._generator = np.random.Generator(np.random.Philox(0))

    def of(self, first: int, second: int) -> np.random.Generator:
        """The generator of a key of 128 bits; valid until the next call."""
        self._key[0], self._key[1] = first, second
        self._generator.bit_generator.state = self._state
        return self._generator
