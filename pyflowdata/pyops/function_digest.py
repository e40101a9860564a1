"""The digest of a Python function: it changes if the function may compute something else.

The digest is made from the function's source.  Comments, blank lines, docstrings, annotations of
types, the place in the file and the version of Python do not count.  These count, too:

- the functions, classes and callable objects of the program that it names, also within a
  `functools.partial`, `lru_cache` or another wrapper;
- its default arguments, and the variables that it takes from enclosing functions;
- the methods and attributes of objects and functions that this code names.

While the program runs, a method may set or fill attributes of its object, such as a cache, and a
function attributes of functions and variables of the functions around it.  Their values do not
count.

Values count if they are numbers, texts, bytes, paths, None, arrays, or lists, tuples, sets and
dicts of these; of an object of a library, only its type and the program's functions in it.  Of an
absolute path only the last part counts.  Global values count if their name is in capitals, as
that of a constant; others do not, since programs change them while they run.

A function without source has a digest of its byte code, which begins with "py" and the version of
Python, since the byte code of another version differs.
"""

from __future__ import annotations

import ast
import builtins
import dis
import enum
import functools
import inspect
import linecache
import re
import sys
import textwrap
import types
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import Any

import numpy as np

_MOST_ARRAY_BYTES = 2**24  # of a larger one, dtype and shape count
_MOST_VALUES = 1_000_000  # after so many, of a container only the length counts
_MOST_LISTED = 10_000  # functions of a list or dict that a global variable has
_DIGITS = 12
_OWN = __name__.partition(".")[0]
_CONSTANT = (bool, int, float, complex, str, bytes, tuple, frozenset, list, np.ndarray, np.generic)
_PLAIN = (bool, int, float, complex, bytes, type(None), type(...), range)
_BY_TEXT = {  # types of Python whose text says the value
    "datetime.date", "datetime.datetime", "datetime.time", "datetime.timedelta", "decimal.Decimal",
    "fractions.Fraction", "builtins.slice",
}  # fmt: skip
_HOLDERS = ("types.SimpleNamespace", "argparse.Namespace")  # objects of values alone
# Where wrappers, descriptors and functions that numba has compiled keep the function of a program.
_HELD = ("__wrapped__", "py_func", "pyfunc", "func", "args", "keywords", "registry", "fget",
         "__func__", "dispatcher")  # fmt: skip
_MAPPINGS = (dict, types.MappingProxyType)
_DESCRIPTORS = (
    property, classmethod, staticmethod, functools.cached_property, functools.partialmethod,
    functools.singledispatchmethod,
)  # fmt: skip
_MAKERS = ("__new__", "__init__", "__post_init__", "__setstate__")
_FOR_PEOPLE = ("__repr__", "__str__", "__del__", "__reduce__", "__getstate__", "__annotate_func__")
_FILLING = {  # methods of containers that change them
    "add", "append", "appendleft", "clear", "difference_update", "discard", "extend", "insert",
    "move_to_end", "pop", "popitem", "popleft", "remove", "reverse", "setdefault", "sort", "update",
}  # fmt: skip
_HEAP_TYPE = 1 << 9  # a flag of classes: it was made while the program ran
_NAMES_ANY = {"__dict__", "vars", "getattr", "asdict", "astuple", "fields", "__slots__"}

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def is_library(module: str | None) -> bool:
    """Whether a module belongs to Python or to an installed package, whose code does not count."""
    top = (module or "").partition(".")[0]
    if top == "__main__":  # perhaps run by a program of a package, such as pytest or a profiler
        return False
    if top in sys.stdlib_module_names:
        return True
    path = getattr(sys.modules.get(top), "__file__", None) or ""
    return "site-packages" in path or "dist-packages" in path


def _is_known(thing: types.FunctionType | type) -> bool:
    """Whether the code of an object does not count, since it belongs to a library or to this
    package.
    """
    module: Any = thing.__module__
    if isinstance(thing, types.FunctionType):  # a decorator may have set its __module__
        module = thing.__globals__.get("__name__")
    elif module == "builtins" and getattr(builtins, thing.__name__, None) is not thing:
        return not thing.__flags__ & _HEAP_TYPE  # as by exec(), where no name is given
    return is_library(module) or str(module).partition(".")[0] == _OWN


def place_of(function: Any) -> str:
    """The name and line of a function, or of the class of an object, for messages."""
    inner = function
    for _ in range(8):  # wrappers of wrappers
        inner = next((one for name, one in _held_by(inner) if name != "args"), inner)
    named = inner if hasattr(inner, "__qualname__") else type(inner)
    code = _quietly(_quietly(named, "__call__") if isinstance(named, type) else named, "__code__")
    name = _local_name(str(named.__qualname__)) + ("" if isinstance(named, type) else "()")
    return name if code is None else f"{name}, {code.co_filename}:{code.co_firstlineno}"


class Digest:
    """The digest of a callable, or of an object, and of the arguments that it is called with.

    Objects and containers count as they are when this is made, before the program runs and fills
    them.  A variable of an enclosing function, or an attribute, that is bound to another value
    later counts with its new value.
    """

    def __init__(self, *things: Any) -> None:
        self._things = things
        self._text, self._bound = _digest_of(things)

    def now(self) -> str:
        """The digest with the current values."""
        if any(_quietly(holder, name) is not value for holder, name, value in self._bound):
            self._text, self._bound = _digest_of(self._things)
        return self._text


Binding = tuple[Any, str, Any]  # an object, the name of an attribute, its value


def _digest_of(things: Iterable[Any]) -> tuple[str, list[Binding]]:
    names: set[str] = set()
    filled: set[str] = set()
    arrays: dict[int, str] = {}
    while True:  # which methods and attributes count depends on the names in all code that counts
        walk = _Walk({*names}, {*filled}, arrays)
        try:
            text = repr([walk.value(one) for one in things])
        except Exception:  # noqa: BLE001  (classes of the program may refuse any question)
            text = repr([(type(one).__qualname__, _name_of(one)) for one in things])
        if walk.names == names and walk.filled == filled:
            break
        names, filled = walk.names, walk.filled
    version = f"py{sys.version_info[0]}.{sys.version_info[1]}-"
    return ("" if walk.has_source else version) + _hash(text)[:_DIGITS], walk.bound


def sha256(data: Any) -> str:
    """The SHA-256 of bytes, in hex."""
    import hashlib  # loads a large library

    return hashlib.sha256(data).hexdigest()


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass"))


# ---- Source -------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=8)
def _definitions(source: str) -> dict[int, list[Definition]]:
    """The functions of a file, by the line of their first decorator, or of their `def`."""
    found: dict[int, list[Definition]] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, Definition):
            lines = [one.lineno for one in getattr(node, "decorator_list", ())]
            found.setdefault(min([node.lineno, *lines]), []).append(node)
    return found


@functools.cache
def _given_program() -> tuple[str, frozenset[types.CodeType]]:
    """The program that `python -c` was given, which is in no file, and its code with all functions.
    """
    options = sys.orig_argv[1:]
    is_c = [len(one) > 1 and one[0] == "-" != one[1] and one[-1] == "c" for one in options[:-1]]
    if True not in is_c or hasattr(sys.modules["__main__"], "__file__"):
        return "", frozenset()
    given = options[is_c.index(True) + 1]
    try:
        # An indented program runs from Python 3.14 on, which does the same.
        text = textwrap.dedent(given) if given.lstrip("\n")[:1] in (" ", "\t") else given
        found = [compile(text, "<string>", "exec", dont_inherit=True)]
    except (SyntaxError, ValueError):
        return "", frozenset()
    for code in found:  # which grows
        found += _codes_in(code)
    return text, frozenset(found)


def _defined_in(file: str, names: dict[str, Any] | None) -> dict[int, list[Definition]]:
    """The same for the file of a function; empty if the file cannot be read."""
    try:
        if file == "<string>":
            return _definitions(_given_program()[0])
        linecache.checkcache(file)
        return _definitions("".join(linecache.getlines(file, names)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}


def _source_of_code(code: types.CodeType, names: dict[str, Any]) -> Definition | None:
    """The definition of a function; None: the file does not have it, or has several at its line."""
    own = (ast.Lambda,) if code.co_name == "<lambda>" else (ast.FunctionDef, ast.AsyncFunctionDef)
    if code.co_filename == "<string>" and code not in _given_program()[1]:  # of exec()
        return None
    near = _defined_in(code.co_filename, names).get(code.co_firstlineno, [])
    found = [one for one in near if isinstance(one, own) and _takes(one.args) == _parameters(code)]
    found = [one for one in found if getattr(one, "name", code.co_name) == code.co_name]
    if len(found) > 1:  # lambdas in one line
        found = [one for one in found if is_code_of(code, one)]
    return found[0] if len(found) == 1 else None


def source_of(function: types.FunctionType) -> Definition | None:
    """The definition of a function; None: it is not known."""
    return _source_of_code(function.__code__, function.__globals__)


def _takes(arguments: ast.arguments) -> tuple[str, ...]:
    last = [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *last]
    return tuple(one.arg for one in every)


def _parameters(code: types.CodeType) -> tuple[str, ...]:
    has_more = bool(code.co_flags & 4) + bool(code.co_flags & 8)  # *args, **kwargs
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + has_more]


def _codes_in(code: types.CodeType) -> list[types.CodeType]:
    """The code of the functions that are written in this code, but not within another function."""
    return [one for one in code.co_consts if isinstance(one, types.CodeType)]


def codes_of(statement: ast.stmt, code: types.CodeType) -> list[types.CodeType]:
    """The code of the functions in a statement, compiled as if it stood where `code` does: in its
    file, with its free variables."""
    tree = ast.parse(f"def around({', '.join(code.co_freevars)}): pass")
    tree.body[0].body = [statement]  # type: ignore[attr-defined]
    (around,) = _codes_in(compile(tree, code.co_filename, "exec", dont_inherit=True))
    return _codes_in(around)


def is_code_of(code: types.CodeType, one: Definition) -> bool:
    """Whether a definition, compiled, is this code."""
    statement = ast.copy_location(ast.Expr(one), one) if isinstance(one, ast.Lambda) else one
    return any(
        (each.co_code, each.co_names, repr(each.co_consts)) ==
            (code.co_code, code.co_names, repr(code.co_consts))
        for each in codes_of(statement, code)
    )  # fmt: skip


# Fields of a syntax tree that say nothing about what is computed.
_UNCOUNTED = ("kind", "type_comment", "ctx", "annotation", "returns", "type_params")


def _written(node: Any) -> Any:
    """A part of a source as a text, without places, comments, docstrings and annotations, and
    without empty fields, which differ between versions of Python.
    """
    if isinstance(node, list):
        return [_written(one) for one in node if not _is_only_typed(one)]
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return "a constant, as docstrings are"
    if not isinstance(node, ast.AST):
        return type(node).__name__, repr(node)
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        node = ast.Assign([node.target], node.value)
    if isinstance(node, ast.ClassDef):  # whose names with types may be fields
        return "class", node.name, [_written(one) for one in (*node.bases, *node.keywords)], [
            ast.dump(one.target) if _is_only_typed(one) else _written(one)
            for one in _body(node.body)
        ]  # fmt: skip
    fields = [
        (name, _written(_body(value) if name == "body" else value))
        for name, value in ast.iter_fields(node)
        if value is not None and value != [] and name not in _UNCOUNTED
    ]
    return type(node).__name__, fields


def _is_only_typed(node: Any) -> bool:
    return isinstance(node, ast.AnnAssign) and node.value is None


def _definition(node: Definition) -> Any:
    """The same for a function, without its decorators, since they have been called."""
    args, body = node.args, node.body
    return type(node).__name__, getattr(node, "name", ""), _written(args), _written(_body(body))


def _body(body: Any) -> Any:
    has_docstring = isinstance(body, list) and body and isinstance(body[0], ast.Expr) \
        and isinstance(body[0].value, ast.Constant)  # fmt: skip
    return body[1:] if has_docstring else body


# ---- Values -------------------------------------------------------------------------------------


class _Walk:
    """One walk over a function and everything that counts with it.

    Attributes:
        names: The names in the code that was reached, in this walk or an earlier one.
        filled: The names of attributes that this code sets or fills, except for attributes of its
            arguments.
        bound: The variables and attributes that gave the values.
        has_source: Whether every function so far has its source.
    """

    def __init__(self, names: set[str], filled: set[str], arrays: dict[int, str]) -> None:
        self.names, self.filled = names, filled
        self.bound: list[Binding] = []
        self.has_source = True
        self._named_before, self._filled_before = frozenset(names), frozenset(filled)
        self._arrays = arrays
        self._texts: dict[int, str] = {}
        self._inside: dict[int, int] = {}  # id of a value that the walk is in -> its depth
        self._held: list[object] = []  # so that no id is used twice
        self._left = _MOST_VALUES

    def value(self, value: Any) -> str:
        """A text for a value; equal for equal values."""
        kind = type(value)
        self._left -= 1
        if kind is str:
            return f"str {_without_folder(value)!r}"
        if kind in _PLAIN or _type_name(value) in _BY_TEXT:
            return f"{kind.__name__} {value!r}"
        if isinstance(value, PurePath):
            return f"path {_without_folder(str(value))!r}"
        if id(value) in self._inside:
            return f"again {self._inside[id(value)]}"
        if id(value) not in self._texts:
            self._held.append(value)
            self._inside[id(value)] = len(self._inside)
            named = "class" if isinstance(value, type) else _local_name(kind.__qualname__)
            text = repr((named, self._made_of(value)))
            del self._inside[id(value)]
            self._texts[id(value)] = _hash(text)
        return self._texts[id(value)]

    def _made_of(self, value: Any) -> Any:
        if isinstance(value, np.generic):
            is_bytes = not value.dtype.hasobject
            return str(value.dtype), value.tobytes().hex() if is_bytes else self.value(value.item())
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, types.MethodType):
            return self.value(value.__func__), self.value(value.__self__)
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, enum.Enum):
            return self.value(value.value)
        if isinstance(value, np.dtype):
            return str(value)
        if isinstance(value, re.Pattern):
            return self.value(value.pattern), value.flags
        elements = self._elements(value)
        is_mere = elements is not None and _is_known(type(value))
        return elements if is_mere else (elements, self._instance(value))

    def _elements(self, value: Any) -> Any:
        """The elements of a container, also of a subclass of a builtin container; None: the value
        is not a container.
        """
        if not isinstance(value, (list, tuple, deque, set, frozenset, *_MAPPINGS)):
            return None
        if len(value) > self._left:
            return len(value)
        if isinstance(value, (set, frozenset)):
            return sorted(map(self.value, value))
        if isinstance(value, _MAPPINGS):
            return [(self.value(key), self.value(one)) for key, one in value.items()]
        return [*map(self.value, value)]

    def _array(self, array: Any) -> Any:
        if array.dtype.hasobject:
            is_small = array.size <= self._left
            elements = [*map(self.value, np.asarray(array).ravel().tolist())] if is_small else []
            return str(array.dtype), array.shape, elements, _mask_digest(array)
        if id(array) not in self._arrays:
            self._arrays[id(array)] = _bytes_digest(array) + _mask_digest(array)
        return str(array.dtype), array.shape, self._arrays[id(array)]

    # ---- Objects ------------------------------------------------------------------------------

    def _instance(self, value: Any) -> Any:
        """The text for an object: its class, and the attributes that count."""
        if _is_known(type(value)):
            return self._of_library(value)
        return self.value(type(value)), self._attributes(value, self._counting(value))

    def _of_library(self, value: Any) -> Any:
        """The text for an object of a library: wrappers and descriptors by their content, other
        objects by the program's functions in them.
        """
        if isinstance(value, types.BuiltinFunctionType):
            of = value.__self__
            return _name_of(value), None if isinstance(of, types.ModuleType) else self.value(of)
        if callable(value) or isinstance(value, _DESCRIPTORS):
            held = self._held_by(value)
            if held:
                return held
        own = _attributes(value)
        if not callable(value) and _type_name(value) not in _HOLDERS:
            own = {name: one for name, one in own.items() if _is_code(one)}
        return _name_of(value), self._attributes(value, own)

    def _held_by(self, wrapper: Any) -> Any:
        return [(name, self.value(one)) for name, one in _held_by(wrapper)]

    def _attributes(self, value: Any, own: dict[str, Any]) -> Any:
        self.bound += [(value, name, one) for name, one in own.items()]
        return [(name, self.value(one)) for name, one in sorted(own.items())]

    def _counting(self, value: Any) -> dict[str, Any]:
        """The attributes of an object of the program that count."""
        kind, own = type(value), _attributes(value)
        bases = [one for one in kind.__mro__ if _is_known(one) and one.__module__ != "builtins"]
        changing, names = _changing(kind, self._named_before), self._named_before
        is_any = bool(names & _NAMES_ANY) or any(one.__module__ not in ("abc", "typing")
                                                 for one in bases)  # fmt: skip
        return {
            name: one for name, one in own.items()
            if name not in changing and (is_any or name in names or name == "__wrapped__")
        }  # fmt: skip

    def _class(self, kind: type) -> Any:
        """The text for a class: the methods and constants that are written in it and that code
        names.
        """
        if _is_known(kind):
            return "library", kind.__module__, kind.__qualname__
        bases = [self.value(one) for one in kind.__bases__]
        changing = _changing(kind, self._named_before)
        members = {
            name: one for name, one in vars(kind).items()
            if _is_member(kind, name, one)
            and (name[:2] == "__" or name in self._named_before)
            and (name not in changing or isinstance(one, (types.FunctionType, *_DESCRIPTORS)))
        }  # fmt: skip
        plain = (*_PLAIN, str)
        self.bound += [(kind, name, one) for name, one in members.items() if type(one) in plain]
        fields = vars(kind).get("__dataclass_fields__", {}).values()
        given = [(one.name, self.value(one.default), self.value(one.default_factory))
                 for one in fields]  # fmt: skip
        own = [(name, self.value(one)) for name, one in sorted(members.items())]
        return _local_name(kind.__qualname__), bases, given, own

    # ---- Functions ----------------------------------------------------------------------------

    def _function(self, function: types.FunctionType) -> Any:
        if _is_known(function):
            return "library", function.__module__, function.__qualname__, self._held_by(function)
        code, names = function.__code__, function.__globals__
        self.names |= names_in(code)
        source = _source_of_code(code, names)
        self.filled |= _set_attributes(function, source)
        self.has_source &= source is not None
        own = self._compiled(code, function.__doc__) if source is None else _definition(source)
        given = ("__code__", "__defaults__", "__kwdefaults__")
        self.bound += [(function, name, getattr(function, name)) for name in given]
        cells = function.__closure__ or ()
        self.bound += [(cell, "cell_contents", _content(cell)) for cell in cells]
        filled = _changed_variables(function)
        inner = [self.value(None if name in filled else _content(cell))
                 for name, cell in zip(code.co_freevars, cells, strict=True)]  # fmt: skip
        defaults = [self.value(function.__defaults__), self.value(function.__kwdefaults__)]
        named = [(name, self.value(one)) for name, one in _named(code, names)]
        attributes = {
            name: one for name, one in vars(function).items()
            if name in self._named_before and name not in self._filled_before
        }  # fmt: skip
        own_values = [self._attributes(function, attributes)] if attributes else []
        return _local_name(function.__qualname__), own, inner, defaults, named, *own_values

    def _compiled(self, code: types.CodeType, doc: str | None = None) -> Any:
        """The byte code of a function and of the functions in it, without places and docstrings."""
        constants = code.co_consts
        if doc is not None and constants and constants[0] == doc:
            constants = constants[1:]
        inner = [
            self._compiled(one) if isinstance(one, types.CodeType) else self.value(one)
            for one in constants
        ]
        return code.co_code.hex(), inner, code.co_names, code.co_varnames, code.co_freevars


# ---- What counts --------------------------------------------------------------------------------


def _is_code(value: Any) -> bool:
    """Whether a value is a function, class or callable object of the program, or wraps one."""
    if isinstance(value, (types.FunctionType, type)) and not _is_known(value):
        return True
    if not callable(value) or isinstance(value, (type, types.BuiltinFunctionType)):
        return False
    is_own = not isinstance(value, types.FunctionType) and not _is_known(type(value))
    return is_own or bool(_held_by(value))


def _held_by(wrapper: Any) -> list[tuple[str, Any]]:
    """The content of a wrapper of a library that contains a function of the program, or of a
    `functools.partial`.
    """
    has = [name for name in _HELD if inspect.getattr_static(wrapper, name, None) is not None]
    found = [(name, one) for name in has if (one := _quietly(wrapper, name)) is not None]
    is_partial = isinstance(wrapper, (functools.partial, functools.partialmethod))
    return found if is_partial or any(_has_code(one) for _, one in found) else []


def _has_code(value: Any) -> bool:
    if isinstance(value, types.MappingProxyType):  # of functools.singledispatch
        return any(map(_is_code, value.values()))
    return _is_code(value)


def _quietly(value: Any, name: str) -> Any:
    try:
        return getattr(value, name, None)
    except Exception:  # noqa: BLE001  (code of the program)
        return None


def _is_member(kind: type, name: str, value: Any) -> bool:
    """Whether an attribute of a class is written in the class, and may influence results."""
    if not isinstance(value, types.FunctionType):
        return name[:2] != "__" and not isinstance(
            value, (types.MemberDescriptorType, types.GetSetDescriptorType)
        )
    is_made = value.__code__.co_filename == "<string>" and (
        hasattr(kind, "__dataclass_fields__") or hasattr(kind, "_fields")
    )
    return _is_code(value) and not is_made and name not in _FOR_PEOPLE


def _changing(kind: type, names: Iterable[str]) -> set[str]:
    """The attributes that methods other than constructors set or fill, and attributes that are
    computed when they are first needed.
    """
    members = {name: one for base in reversed(kind.__mro__) for name, one in vars(base).items()}
    methods = {name: one for name, one in members.items()
               if isinstance(one, types.FunctionType) and not _is_known(one)}  # fmt: skip
    making = [name for name in _MAKERS if name in methods]
    for name in making:  # grows
        found = names_in(methods[name].__code__)
        making += [one for one in methods if one in found and one not in making]
    running = [one for name, one in methods.items()
               if name not in making and (name[:2] == "__" or name in names)]  # fmt: skip
    cached = {name for name, one in members.items() if isinstance(one, functools.cached_property)}
    return cached.union(*map(_changed_attributes, running))


def _changed_attributes(method: types.FunctionType) -> set[str]:
    """The attributes of its object that a method sets or fills; without source, of any object."""
    source = _source_of_code(method.__code__, method.__globals__)
    if source is None:
        return _stored(method, "STORE_ATTR")
    own = _takes(source.args)[:1]
    nodes = [node for name in own for node in _nodes_with(source, name)]
    changed = [_path(one) for one in _filled(nodes)]
    changed += [(*_path(node.value), node.attr) for node in nodes
                if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)
                and isinstance(node.value, ast.Name)]  # fmt: skip
    return {path[1] for path in changed if path[:1] == own and len(path) > 1}


def _set_attributes(function: types.FunctionType, source: Definition | None) -> set[str]:
    """The attributes that a function and the functions in it set or fill, except for attributes of
    its arguments.
    """
    if source is None:
        return _stored(function, "STORE_ATTR")
    nodes = [*ast.walk(source)]
    changed = [*_filled(nodes), *(one for one in nodes if isinstance(one, ast.Attribute)
                                  and not isinstance(one.ctx, ast.Load))]  # fmt: skip
    paths = [_path(one) for one in changed]
    return {path[-1] for path in paths if len(path) > 1 and path[0] not in _takes(source.args)}


def _changed_variables(function: types.FunctionType) -> set[str]:
    """The variables of enclosing functions that a function, or a function in it, sets or fills."""
    source = _source_of_code(function.__code__, function.__globals__)
    changed = _stored(function, "STORE_DEREF")
    if source is None:
        return changed
    for name in function.__code__.co_freevars:
        nodes = [*_nodes_with(source, name)]
        is_set = any(_is_stored(node, name) for node in nodes)
        if is_set or any(_path(one) == (name,) for one in _filled(nodes)):
            changed.add(name)
    return changed


def _stored(function: types.FunctionType, operation: str) -> set[str]:
    """The names that the byte code of a function sets."""
    code = dis.get_instructions(function.__code__)
    return {one.argval for one in code if one.opname == operation}


def _nodes_with(scope: ast.AST, name: str) -> Iterator[ast.AST]:
    """The syntax nodes of a function in which a name means the same variable as in the function."""
    for node in ast.iter_child_nodes(scope):
        if not _is_only_typed(node) and not _binds(node, name):
            yield node
            yield from _nodes_with(node, name)


def _binds(node: ast.AST, name: str) -> bool:
    """Whether a part of a function has a variable of its own of this name."""
    if not isinstance(node, (Definition, *_COMPREHENSIONS)):
        return False
    if isinstance(node, Definition) and name in _takes(node.args):
        return True
    inner = [*ast.walk(node)]
    if any(isinstance(one, ast.Global) and name in one.names for one in inner):
        return True
    is_shared = any(isinstance(one, ast.Nonlocal) and name in one.names for one in inner)
    return not is_shared and any(_is_stored(one, name) for one in inner)


def _is_stored(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)


def _filled(nodes: Iterable[ast.AST]) -> Iterator[ast.expr]:
    """The expressions whose elements are set, added or removed."""
    for node in nodes:
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            yield node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) \
                and node.func.attr in _FILLING:  # fmt: skip
            yield node.func.value


def _path(node: ast.expr) -> tuple[str, ...]:
    """The variable and attributes of an expression such as a.b[0].c; (): it has another form."""
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Subscript):
        return _path(node.value)
    if isinstance(node, ast.Attribute):
        outer = _path(node.value)
        return (*outer, node.attr) if outer else ()
    return ()


def _named(code: types.CodeType, names: dict[str, Any]) -> list[tuple[str, Any]]:
    """The global names that a function uses, also in modules of the program, and that count: code
    of the program, also in lists and dicts, and constants, whose names are in capitals.
    """
    used, spaces, found = sorted(names_in(code)), [("", names)], {}
    for path, space in spaces:  # grows
        for name in used:
            value = space.get(name)
            if isinstance(value, types.ModuleType):
                is_known = is_library(value.__name__) or value.__name__.partition(".")[0] == _OWN
                if not is_known and all(one is not vars(value) for _, one in spaces):
                    spaces.append((f"{path}{name}.", vars(value)))
            elif _is_code(value) or (name.isupper() and isinstance(value, _CONSTANT)):
                found[f"{path}{name}"] = value
            elif isinstance(value, (dict, list, tuple)) and len(value) <= _MOST_LISTED:
                inner = value.values() if isinstance(value, dict) else value
                held = [one for one in inner if _is_code(one)]
                found.update({f"{path}{name}": held} if held else {})
    return sorted(found.items(), key=lambda one: one[0])


def names_in(code: types.CodeType) -> set[str]:
    """The names that a function, and the functions in it, may look up as globals."""
    names = set(code.co_names)
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            names |= names_in(one)
    return names


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is still empty
        return None


def _attributes(value: Any) -> dict[str, Any]:
    """The attributes of an object itself, also those in slots."""
    own = {**getattr(value, "__dict__", {})}
    for kind in type(value).__mro__:
        for name, one in vars(kind).items():
            if isinstance(one, types.MemberDescriptorType) and not _is_known(kind):
                own[name] = _quietly(value, name)
    return {name: one for name, one in own.items() if name[:2] != "__" or name in _HELD}


def _mask_digest(array: Any) -> str:
    mask = np.ma.getmask(array)
    return "" if mask is np.ma.nomask else _bytes_digest(mask)


def _bytes_digest(array: Any) -> str:
    if array.nbytes > _MOST_ARRAY_BYTES:
        return ""
    return sha256(np.asarray(array).tobytes())


def _without_folder(text: str) -> str:
    """An absolute path without its folder, since the same files may be elsewhere."""
    is_path = text[:1] == "/" and "\n" not in text
    return PurePath(text).name or text if is_path else text


def _local_name(name: str) -> str:
    """The name of a function without the names of enclosing functions."""
    return name.rpartition("<locals>.")[2]


def _type_name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _name_of(value: Any) -> str:
    """The name of a function in another language; for other objects empty, since their type says
    enough.
    """
    return str(_quietly(value, "__qualname__") or _quietly(value, "__name__") or "")
