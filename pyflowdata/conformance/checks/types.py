"""Inputs of other types and values than those of the sample."""

from __future__ import annotations

from ...native import lib
from ..kit import Run
from .check import Check
from .ranges import likely_of

_DTYPES = {
    "float32": lib.PFD_FLOAT32, "uint8": lib.PFD_UINT8, "int64": lib.PFD_INT64,
    "float64": lib.PFD_FLOAT64, "int32": lib.PFD_INT32, "bool": lib.PFD_BOOL,
    "int8": lib.PFD_INT8, "int16": lib.PFD_INT16, "uint16": lib.PFD_UINT16,
    "uint32": lib.PFD_UINT32, "uint64": lib.PFD_UINT64, "float16": lib.PFD_FLOAT16,
    "bfloat16": lib.PFD_BFLOAT16,
}  # fmt: skip
_MOST_LARGE = 2  # dtypes of each input, with rows of some MB


def types(check: Check) -> str:
    """Each input of each dtype and many shapes, with values at which loops go wrong."""
    offered = accepted = 0
    for index, blob in enumerate(check.given.make().inputs):
        name = blob.node.op.outputs[blob.index].name
        large = 0
        for dtype, number in _DTYPES.items():
            what = f"input {index} ({name}) of {dtype}"
            run = _run(check, what, index, number)
            if run is None:
                continue
            offered += run.num_records
            accepted += run.num_accepted
            if run.num_accepted and large < _MOST_LARGE:
                large += 1
                _run(check, f"{what}, large rows", index, number, made_large=1)
    return f"{offered} types of inputs offered, rows made up of the {accepted} accepted"


def _run(check: Check, case: str, index: int, dtype: int, **options: int) -> Run | None:
    if not check.case(case):
        return None
    run = check.kit.run(doing=case, silent=True, types=1, made_input=index, made_dtype=dtype,
                        **options)  # fmt: skip
    for id, text in run.found:
        check.tell(id, text, likely_of(text))
    return run
