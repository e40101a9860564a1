"""Messages for blobs that are used as arrays: they name the op that does the same, or the loader.
A type checker does not see the methods of this module, so it finds wrong uses itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ..errors import WrongUseError
from ..words import remedies
from ..words.remedies import did_you_mean


_CAST = 'use flow.Cast(x, dtype="float32")'
_CONCAT = "use flow.Concat(x, y)"
_ARRAYS = "take its arrays from a loader, for batch in flow.DataLoader(x)"
_BATCHES = "batches of all columns are in for batch in flow.DataLoader(data.batch(n))"

# Operators and a number k -> what computes the same.
_WITH_NUMBER = {
    "add": "flow.Affine(x, shift={0})",
    "radd": "flow.Affine(x, shift={0})",
    "sub": "flow.Affine(x, shift=-{0})",
    "rsub": "flow.Affine(x, scale=-1, shift={0})",
    "mul": "flow.Affine(x, scale={0})",
    "rmul": "flow.Affine(x, scale={0})",
    "truediv": "flow.Affine(x, scale=1 / {0})",
}
_OF_UFUNCS = {"subtract": "sub", "multiply": "mul", "divide": "truediv", "true_divide": "truediv"}
_SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "matmul": "@", "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_WHERE = f'{remedies.OWN_OP}, or choose records by data.where("x < 3")'

_METHODS = {
    **dict.fromkeys(("astype", "double", "float", "half", "int", "long", "type"), _CAST),
    **dict.fromkeys(("asnumpy", "data", "item", "numpy", "tobytes", "tolist", "values"), _ARRAYS),
    **dict.fromkeys(("cpu", "cuda", "detach", "device", "pin_memory", "to"), remedies.DEVICE),
    **dict.fromkeys(
        ("batch", "filter", "map", "repeat", "shuffle", "skip", "take", "where"), remedies.ON_DATA
    ),
    **dict.fromkeys(
        ("T", "argmax", "argmin", "clip", "cumsum", "exp", "flatten", "log", "max", "mean", "min",
         "permute", "ravel", "reshape", "sort", "sqrt", "squeeze", "std", "sum", "transpose",
         "unsqueeze", "var", "view"), remedies.OWN_OP,
    ),
    **dict.fromkeys(("ndim", "rank", "size"), "use x.shape"),
    **dict.fromkeys(("get", "items", "keys"), _BATCHES),
    "concat": _CONCAT,
    "crop": "use flow.CenterCrop(x, size=(height, width))",
    "decode": "use flow.ImageDecoder(x), flow.DecodeRaw(x, ...) or another decoder",
    "normalize": "use flow.Normalize(x, mean=0, std=1)",
    "pad": "use flow.Pad(x, shape=[n]) or flow.PadBatch(x)",
    "resize": "use flow.Resize(x, size=(height, width))",
}  # fmt: skip
_NUMPY_FUNCTIONS = {
    **dict.fromkeys(("column_stack", "concatenate", "hstack", "stack", "vstack"), _CONCAT),
    "pad": _METHODS["pad"],
    "shape": "use x.shape",
    "size": "use x.shape",
}


def _refused(blob: Any, what: str, instead: str) -> WrongUseError:
    return WrongUseError(
        f"{blob.name} is a Blob, a column of batches to come, not an array, and {what}: {instead}"
    )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating))


def _computed(sign: str, other: object) -> str:
    """The op that computes the same as an operator."""
    if sign in _WITH_NUMBER and _is_number(other):
        return f"use {_WITH_NUMBER[sign].format(other)}"
    return remedies.OWN_OP


class BlobHints:
    """The base of Blob: says what to do if a blob is used as an array.

    Every method here raises a WrongUseError, which is a TypeError.
    """

    __slots__ = ()
    __hash__ = object.__hash__


def _unary(what: str, instead: str) -> Callable[[Any], NoReturn]:
    def refuse(self: Any) -> NoReturn:
        raise _refused(self, what, instead)

    return refuse


def _binary(name: str, sign: str) -> Callable[[Any, Any], NoReturn]:
    def refuse(self: Any, other: Any) -> NoReturn:
        instead = _WHERE if name in _COMPARISONS else _computed(name, other)
        raise _refused(self, f"has no operator {sign}", instead)

    return refuse


def _eq(self: Any, other: Any) -> Any:
    if isinstance(other, (bool, int, float, str, bytes, np.generic, np.ndarray)):
        is_text = isinstance(other, (str, bytes))
        raise _refused(self, "has no operator ==", remedies.WHERE_TEXT if is_text else _WHERE)
    return NotImplemented  # blobs are equal if they are the same


def _getitem(self: Any, key: Any) -> NoReturn:
    if isinstance(key, str):
        instead = f"data.batch(n)[{key!r}] is such a column, and {_BATCHES}"
    elif isinstance(key, (slice, tuple)):
        instead = "use flow.Slice(x, start=[0], stop=[2]) for a part of each row, or take the " \
            "arrays from a loader, for batch in flow.DataLoader(x)"  # fmt: skip
    else:
        raise _refused(self, "cannot be iterated, unpacked or indexed",
                       f"{_ARRAYS}; {_BATCHES}")  # fmt: skip
    raise _refused(self, "has no index", instead)


def _contains(self: Any, _value: Any) -> NoReturn:
    raise _refused(self, "has no operator in", _WHERE)


def _array(self: Any, *_args: Any, **_options: Any) -> NoReturn:
    raise _refused(self, "cannot become one", _ARRAYS)


def _array_ufunc(self: Any, ufunc: Any, _method: str, *inputs: Any, **_options: Any) -> NoReturn:
    name = ufunc.__name__
    sign = _OF_UFUNCS.get(name, name)
    others = [value for value in inputs if value is not self]
    if others and others[0] is inputs[0]:
        sign = f"r{sign}"
    instead = _computed(sign, others[0] if others else None)
    raise _refused(self, f"numpy.{name}() cannot take it", instead)


def _array_function(self: Any, function: Any, _types: Any, _args: Any, _options: Any) -> NoReturn:
    name = function.__name__
    instead = _NUMPY_FUNCTIONS.get(name, remedies.OWN_OP)
    raise _refused(self, f"numpy.{name}() cannot take it", instead)


def _torch_function(
    cls: Any, function: Any, _types: Any, args: Any = (), _options: Any = None
) -> NoReturn:
    lists = [given if type(given) in (list, tuple) else [given] for given in args]
    blob = next((one for given in lists for one in given if isinstance(one, cls)), None)
    name = getattr(function, "__name__", "torch")
    if blob is None:
        said = f"{name}() cannot take a Blob, a column of batches to come"
        raise WrongUseError(f"{said}: {remedies.DEVICE}")
    raise _refused(blob, f"{name}() cannot take it", remedies.DEVICE)


def _getattr(self: Any, name: str) -> NoReturn:
    said = f"a Blob has no {name!r}"
    if name.startswith("_"):
        pass
    elif name in _METHODS:
        said += f", as it is a column of batches to come, not an array: {_METHODS[name]}"
    else:
        known = [one for one in dir(self) if not one.startswith("_")]
        said += did_you_mean(name, known)
    raise AttributeError(said, name=name, obj=None)


def _made() -> dict[str, Any]:
    methods: dict[str, Any] = {
        "eq": _eq,
        "getitem": _getitem,
        "contains": _contains,
        "getattr": _getattr,
        "array": _array,
        "array_ufunc": _array_ufunc,
        "array_function": _array_function,
        "torch_function": classmethod(_torch_function),
        "len": _unary("has no len()", f"{_ARRAYS}; x.batch_size is the number of its rows"),
        "bool": _unary("is neither true nor false", f"compare it with None, or {_ARRAYS}"),
        "neg": _unary("has no operator -", "use flow.Affine(x, scale=-1)"),
        "pos": _unary("has no operator +", "use x itself"),
    }  # fmt: skip
    for name in ("abs", "invert", "round"):
        methods[name] = _unary(f"has no {name}()", remedies.OWN_OP)
    for name in ("float", "int"):
        methods[name] = _unary(f"has no {name}()", _ARRAYS)
    for name, sign in _SIGNS.items():
        methods[name], methods[f"r{name}"] = _binary(name, sign), _binary(f"r{name}", sign)
    for name, sign in _COMPARISONS.items():
        methods[name] = _binary(name, sign)
    return methods


for _name, _method in _made().items():
    setattr(BlobHints, f"__{_name}__", _method)
