"""Tries inputs of other types and values than the sample has."""

from __future__ import annotations

from pyflowdata.native import lib
from ..kit import LARGE_ROWS, MANY_SHAPES, ONE_SHAPE, TYPES, Run
from .check import Check
from .ranges import tell_of_ranges

_DTYPES = {
    "float32": lib.PFD_FLOAT32, "uint8": lib.PFD_UINT8, "int64": lib.PFD_INT64,
    "float64": lib.PFD_FLOAT64, "int32": lib.PFD_INT32, "bool": lib.PFD_BOOL,
    "int8": lib.PFD_INT8, "int16": lib.PFD_INT16, "uint16": lib.PFD_UINT16,
    "uint32": lib.PFD_UINT32, "uint64": lib.PFD_UINT64, "float16": lib.PFD_FLOAT16,
    "bfloat16": lib.PFD_BFLOAT16,
}  # fmt: skip
# Numbers of dtypes: of the first input, and of each other input; the first that infer() accepts.
_MOST_LARGE = (2, 1)  # tried with rows of some MB
_MOST_SHAPES = (4, 1)  # tried with all shapes


def types(check: Check) -> str:
    """Tries each input with each dtype and many shapes, with values that often cause faults in
    loops.
    """
    offered = accepted = 0
    for index, blob in enumerate(check.given.make().inputs):
        name = blob.node.op.outputs[blob.index].name
        taken = 0  # dtypes
        for dtype, number in _DTYPES.items():
            what = f"input {index} ({name}) of {dtype}"
            few = taken >= _MOST_SHAPES[index > 0]
            rows = ONE_SHAPE if few else MANY_SHAPES
            run = _run(check, what, index, number, rows)
            offered += run.num_records if run else 0
            accepted += run.num_accepted if run else 0
            taken += run.num_accepted > 0 if run else 1
            if taken <= _MOST_LARGE[index > 0] and (run is None or run.num_accepted):
                _run(check, f"{what}, large rows", index, number, LARGE_ROWS)
    return f"{offered} types of inputs offered, rows made up of the {accepted} accepted"


def _run(check: Check, case: str, index: int, dtype: int, rows: int) -> Run | None:
    if not check.case(case):
        return None
    run = check.kit.run(doing=case, silent=True, mode=TYPES,
                        varied={"input": index, "dtype": dtype, "rows": rows})  # fmt: skip
    tell_of_ranges(check, run)
    return run
