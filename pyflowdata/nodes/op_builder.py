"""OneFlow's way to use an op: a chain of calls that ends in blobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..errors import InvalidArgumentError, WrongUseError
from .node import Blob, Node, is_present
from .op_functions import take_inputs
from .name_hints import what_is_meant
from .op_facts import Op as RegisteredOp
from .op_facts import Port
from .registry import find_op, registered_ops

# OneFlow's name of an attr -> the attr's name, for ops without an attr of the first name.  `name`
# is otherwise that of a node, and dtypes have NumPy's names.
_ONEFLOW_ATTRS = {"name": "blob_name", "data_type": "dtype"}


def _without_seed(op: RegisteredOp, values: Mapping[str, object]) -> dict[str, object]:
    """The attrs, without OneFlow's seed of an op: the seed of the reader decides the random numbers
    of ops.
    """
    if "has_seed" not in values or op.attr("has_seed") is not None:
        return dict(values)
    if values["has_seed"]:
        raise InvalidArgumentError(
            "attr 'has_seed' is set; ops draw by the seed of their reader: give it that seed, and "
            "has_seed = False here",
            op=op.name,
        )
    return {name: value for name, value in values.items() if name not in ("seed", "has_seed")}


def _check_port(op: RegisteredOp, ports: tuple[Port, ...], name: str, kind: str) -> None:
    names = [port.name for port in ports]
    if name in names:
        return
    has = f"{kind}s of {op.name}: {', '.join(names)}" if names else f"{op.name} has no {kind}s"
    raise InvalidArgumentError(f"unknown {kind} '{name}'; {has}", op=op.name)


class UserOp:
    """A built op.  Made by `UserOpBuilder.Build()`."""

    def __init__(self, node: Node, wanted: Sequence[str]) -> None:
        blobs = {node.op.outputs[blob.index].name: blob for blob in node.outputs}
        self._blobs = {name: blobs[name] for name in wanted}

    def InferAndTryRun(self) -> UserOp:
        """Returns the op itself: shapes and dtypes are inferred already, and nothing runs before a
        DataLoader opens the blobs.
        """
        return self

    def RemoteBlobList(self) -> tuple[Blob, ...]:
        """The blobs, in the order in which Output() was called."""
        return tuple(self._blobs.values())

    def RemoteBlobDict(self) -> dict[str, tuple[Blob, ...]]:
        """The blobs by the name of their output, each in a tuple of one."""
        return {name: (blob,) for name, blob in self._blobs.items()}

    def SoleOutputBlob(self) -> Blob:
        """The only blob; an InvalidArgumentError if there are several."""
        if len(self._blobs) != 1:
            raise InvalidArgumentError(
                f"SoleOutputBlob() of an op with the outputs {', '.join(self._blobs)}; use "
                "RemoteBlobList() or RemoteBlobDict()"
            )
        return next(iter(self._blobs.values()))


class UserOpBuilder:
    """The chain `user_op_builder(name).Op(type).Input(...).Output(...).Attr(...).Build()`."""

    def __init__(self, name: str | None = None) -> None:
        self._name = name
        self._op: RegisteredOp | None = None
        self._inputs: dict[str, object] = {}
        self._outputs: list[str] = []
        self._attrs: dict[str, object] = {}
        self._num_outputs: int | None = None  # all that an attr names, where asked for

    def Op(self, op_type_name: str) -> UserOpBuilder:
        """Chooses the op, in any spelling that the registry accepts.  Must be called first."""
        if self._op is not None:
            raise InvalidArgumentError(f"Op({op_type_name!r}) after Op({self._op.name!r})")
        if not isinstance(op_type_name, str):
            raise WrongUseError(f"Op({op_type_name!r}): the name of an op is a str")
        try:
            self._op = find_op(op_type_name)
        except InvalidArgumentError:
            meant = what_is_meant(op_type_name, [op.name for op in registered_ops()])
            if not meant:
                raise
            raise InvalidArgumentError(f"unknown op {op_type_name!r}; {meant}") from None
        return self

    def _chosen_op(self, call: str) -> RegisteredOp:
        if self._op is None:
            raise InvalidArgumentError(f"{call} was called before Op(); Op(type) must come first")
        return self._op

    def Input(self, input_name: str, input_blob_list: Sequence[Blob] | Blob) -> UserOpBuilder:
        """Sets the blob of an input, bare or in a list; an op with many inputs takes several."""
        op = self._chosen_op(f"Input({input_name!r})")
        _check_port(op, op.inputs, input_name, "input")
        blobs = input_blob_list
        if isinstance(blobs, Iterable) and not isinstance(blobs, (str, bytes, Mapping)):
            blobs = list(blobs)
            if len(blobs) != 1 and not op.has_many_inputs:
                raise InvalidArgumentError(
                    f"input '{input_name}' got {len(blobs)} blobs; it takes 1", op=op.name
                )
            blobs = blobs if op.has_many_inputs else blobs[0]
        if input_name in self._inputs:
            raise InvalidArgumentError(f"input '{input_name}' was given twice", op=op.name)
        self._inputs[input_name] = blobs
        return self

    def Output(self, output_name: str, num: int = 1) -> UserOpBuilder:
        """Requests an output.  If an attr lists the outputs, the declared output requests all of
        them, and `num` is their number."""
        op = self._chosen_op(f"Output({output_name!r})")
        if not op.outputs_attr:
            _check_port(op, op.outputs, output_name, "output")
        elif output_name == op.outputs[0].name:
            self._num_outputs = num
            num = 1
        if num != 1:
            raise InvalidArgumentError(
                f"output '{output_name}' was requested {num} times; it is 1 blob", op=op.name
            )
        if output_name in self._outputs:
            raise InvalidArgumentError(f"output '{output_name}' was requested twice", op=op.name)
        self._outputs.append(output_name)
        return self

    def Attr(
        self, attr_name: str, attr_value: object, attr_type_name: str | None = None
    ) -> UserOpBuilder:
        """Sets an attr.  `attr_type_name` is OneFlow's and not needed: the op declares the type.
        `name` and `data_type` are accepted as OneFlow's names of `blob_name` and `dtype`, and
        `seed` without effect where `has_seed` is False."""
        op = self._chosen_op(f"Attr({attr_name!r})")
        other = _ONEFLOW_ATTRS.get(attr_name, attr_name)
        is_other = op.attr(attr_name) is None and op.attr(other) is not None
        self._attrs[other if is_other else attr_name] = attr_value
        return self

    def Build(self) -> UserOp:
        """Checks attrs and inputs and infers the outputs.  Files are read only to infer attrs that
        were left out.

        Raises:
            InvalidArgumentError: An attr, input or output is invalid; the text says what is
                allowed.
        """
        op = self._chosen_op("Build()")
        inputs = take_inputs(op, dict(self._inputs))
        attrs = _without_seed(op, self._attrs)
        node = Node(op, self._name, inputs, attrs)
        if not self._outputs:
            raise InvalidArgumentError(
                "no Output() was requested; outputs: "
                + ", ".join(port.name for port in op.outputs),
                op=op.name,
            )
        wanted = self._outputs
        if op.outputs_attr:
            wanted = self._named_outputs(op, node)
        for name in wanted:
            switch = op.switch(name)
            if switch is not None and not is_present(op, name, attrs):
                value = "True" if switch.type.word == "bool" else "..."
                raise InvalidArgumentError(
                    f"output '{name}' needs Attr('{switch.name}', {value})", op=op.name
                )
        return UserOp(node, wanted)

    def _named_outputs(self, op: RegisteredOp, node: Node) -> list[str]:
        """The requested outputs; those that the attr lists replace the declared one."""
        declared = op.outputs[0].name
        added = len(op.outputs) - 1  # mask and id, of readers
        named = [port.name for port in node.op.outputs[: len(node.op.outputs) - added]]
        if self._num_outputs not in (None, 1, len(named)):
            raise InvalidArgumentError(
                f"output '{declared}' was requested {self._num_outputs} times; attr "
                f"'{op.outputs_attr}' names {len(named)}",
                op=op.name,
            )
        wanted: dict[str, None] = {}
        for name in self._outputs:
            if name == declared and declared not in named:
                wanted.update(dict.fromkeys(named))
            else:
                _check_port(node.op, node.op.outputs, name, "output")
                wanted[name] = None
        return list(wanted)


def user_op_builder(name: str | None = None) -> UserOpBuilder:
    """Starts the chain for one op.

    Args:
        name: Name of the node, unique in a loader; None or "" for none.
    """
    return UserOpBuilder(name)
