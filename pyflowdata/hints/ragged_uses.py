"""What is said of a Ragged that is used like an array: rows of different lengths have no sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import numpy as np

ClassT = TypeVar("ClassT", bound=type)

AS_ARRAY = (
    "np.asarray(a) is an array where all rows are of one shape, a.to_padded() one with a mask, and "
    "a.values has the elements of all rows"
)
_SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip
_REFLECTED = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")


def refuse_index(index: object) -> NoReturn:
    """Raises TypeError for what is neither the number of a row nor a slice."""
    if isinstance(index, tuple) and index and all(isinstance(one, int) for one in index):
        said = "an element is a[row][place]"
    else:
        said = "several rows are [a[row] for row in rows]"
    raise TypeError(
        f"a Ragged takes the number of a row or a slice, and this is a {type(index).__name__}: "
        f"{said}; {AS_ARRAY}"
    ) from None


def refuse_attribute(name: str) -> NoReturn:
    """Raises AttributeError; for what arrays have, it says how the Ragged becomes one."""
    said = f"a Ragged has no attribute '{name}'"
    is_of_arrays = not name.startswith("_") and hasattr(np.ndarray, name)
    raise AttributeError(f"{said}: {AS_ARRAY}" if is_of_arrays else said)


def refuses_arithmetic(cls: ClassT) -> ClassT:
    """Makes operators with a number or another Ragged say what there is in their place; arrays and
    tensors answer as they do."""
    for name, sign in _SIGNS.items():
        setattr(cls, f"__{name}__", _refusing(cls, sign))
    for name in _REFLECTED:
        setattr(cls, f"__r{name}__", _refusing(cls, _SIGNS[name]))
    return cls


def _refusing(cls: type, sign: str) -> Callable[[Any, object], Any]:
    def refuse(self: object, other: object) -> Any:
        if isinstance(other, (int, float, list, cls)) and not isinstance(other, np.generic):
            raise TypeError(f"a Ragged has no operator {sign}: {AS_ARRAY}")
        return NotImplemented

    return refuse
