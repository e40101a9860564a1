"""Short digests of the ops that compute the fields of a loader; they are a part of a state.

Each field that a loader delivers has a digest of everything that computes it.  The digest decides
whether a state belongs to the loader.  It covers these parts of each node, from the reader on:

    code     of a Python function: its source, see pyops/function_digest.py
    attrs    the attrs of the op, also those that are defaults, and the types of outputs
    label    if it may draw random numbers, which depend on it
    inputs   the digests of what it is computed from

The label of a node is the name that the user gave it.  Without a name it is the op and a number:
such nodes of an op are counted from the blobs of the loader on, inputs first.  The state also has
the labels and digests of nodes, if there is room: they tell what differs.  Readers and views are in
the spec of their reader, except for the Python objects that are read, and for the names of views
that draw by their name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..errors import shown
from ..native import lib
from ..nodes import Blob, Node
from ..nodes.node import in_order, nodes_of
from ..nodes.objects import Identity

_PLAIN_LABEL = re.compile(r"[A-Za-z0-9_.-]{1,32}")
_NUMBERED = re.compile(r"_[0-9]+$")  # the end of the label of a node without a name
_MOST_CHARACTERS = 400  # of all digests in a state
_KEY, _FIELD = 3, 5  # digits of the digests of a field's key, and of what it is computed by
_MOST_NODES = 6  # that a message lists
_ORDER = (
    "nodes of an op without a name are numbered from the first blob of the loader on, and draw the "
    "random numbers of their number: deliver the blobs in the order of the state, or, before a "
    "run, give the nodes name="
)


class NodeDigest(NamedTuple):
    """The digests of a node.

    Attributes:
        code: The digest of the code; "" for an op that is not a Python function; "py3.11-..." if
            the function has no source, so that another version of Python gives another digest.
    """

    code: str
    attrs: str
    inputs: str


_VIEW = NodeDigest("view", "", "")  # its label is all that its order depends on besides the spec


class GraphDigest(NamedTuple):
    """The digests of a graph.

    Attributes:
        nodes: The digest of each node, and of each view that draws by its name; the keys are
            labels, or hashes of nodes.
        fields: The hash of a field's key -> the digest of what computes the field.  Fields that
            share a key have "".
    """

    nodes: dict[str, NodeDigest]
    fields: list[tuple[str, str]]


def short_hash(text: str, digits: int = 4) -> str:
    """The first hexadecimal digits of a hash of a text."""
    import hashlib  # loads a large library

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:digits]


# ---- The digests of a graph ---------------------------------------------------------------------


def _label_in_state(name: str) -> str:
    """The label without spaces; different labels stay different."""
    if _PLAIN_LABEL.fullmatch(name):
        return name
    return f"{re.sub(r'[^A-Za-z0-9_.-]', '?', name)[:12]}~{short_hash(name, 8)}"


def draws_at_random(node: Node) -> bool:
    """Whether the node is a view with a random order."""
    is_random = node.op.is_view and not node.op.is_reader and node.op.attr("seed") is not None
    is_regular = node.values.get("interleave", "regular") == "regular"
    return is_random and not (node.op.attr("interleave") is not None and is_regular)


def _draws_by_name(node: Node) -> bool:
    """Whether the node is a view whose random order depends on its name."""
    return draws_at_random(node) and not node.values.get("order_key")


def _draws_in_rows(node: Node) -> bool:
    """Whether the op may draw random numbers for a row; for ops in C this is not known."""
    return node.identity is None or node.identity.draws


def _inputs_of(blob: Blob) -> Sequence[Blob]:
    """The fields from which a view, or the batches of a data set, take a field."""
    node, fields = blob.node, len(blob.node.outputs)
    if not node.op.is_view:
        return ()
    is_choice = not node.op.is_reader and fields < len(node.inputs)
    return node.inputs[blob.index :: fields] if is_choice else node.inputs[blob.index :][:1]


class _Origin(NamedTuple):
    """Where the values of a blob come from.

    Attributes:
        said: "label/output"; several for a view of several data sets.
        digest: The digest of all that computes them.
    """

    said: str
    digest: str


class _Walk:
    """The labels of the nodes that compute some blobs: ops in the order of the blobs, readers and
    views in the order of the graph.
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.digests: dict[str, NodeDigest] = {}
        self._origins: dict[tuple[Node, int], _Origin] = {}
        self._numbers: Counter[str] = Counter()
        self._computed: dict[Node, str] = {}
        sources = [node for node in nodes if node.op.is_reader or node.op.is_view]
        self.labels = {node: self._label(node) for node in sources}

    def origin(self, blob: Blob) -> _Origin:
        for one in in_order([blob], self._before):
            key = one.node, one.index
            if key not in self._origins:
                self._origins[key] = self._find(one)
        return self._origins[blob.node, blob.index]

    def _before(self, blob: Blob) -> Sequence[Blob]:
        if (blob.node, blob.index) in self._origins:
            return ()
        return _inputs_of(blob) or (() if blob.node.op.is_view else blob.node.inputs)

    def _find(self, blob: Blob) -> _Origin:
        node, output = blob.node, blob.name.rpartition("/")[2]
        inner = [self._origins[one.node, one.index] for one in _inputs_of(blob)]
        if inner:
            return _Origin("|".join(one.said for one in inner), " ".join(o.digest for o in inner))
        if node not in self._computed:
            self._computed[node] = self._compute(node)
        is_reader = node.op.is_reader or node.op.is_view
        place = f"{self.labels[node]}/{output if is_reader else blob.index}"
        return _Origin(place, short_hash(f"{self._computed[node]} {output} {blob.index}", 16))

    def _compute(self, node: Node) -> str:
        """The digest of what a node computes."""
        taken = () if node.op.is_view else node.inputs
        inputs = [self._origins[one.node, one.index] for one in taken]
        if node not in self.labels:
            self.labels[node] = self._label(node)
        label = self.labels[node]
        identity = node.identity
        code = "" if identity is None else identity.digest()
        if node.op.is_reader or node.op.is_view:  # the spec of the reader has the rest
            if code:
                self.digests[label] = NodeDigest(_short_code(code), "", "")
            return short_hash(f"{label} {code}", 16)
        types = [(str(blob.dtype), blob.shape[1:]) for blob in node.outputs]
        attrs = f"{lib.pfd_node_attrs_hash(node.handle)} {types}"
        said = " ".join(one.said for one in inputs)
        self.digests[label] = NodeDigest(_short_code(code), short_hash(attrs), short_hash(said))
        drawn = label if _draws_in_rows(node) else ""
        origins = [one.digest for one in inputs]
        return short_hash(repr((_kind_of(node), drawn, code, attrs, origins)), 16)

    def _label(self, node: Node) -> str:
        if node.name:
            return node.name
        kind = _kind_of(node)
        self._numbers[kind] += 1
        return f"{kind}_{self._numbers[kind] - 1}"


def _kind_of(node: Node) -> str:
    """The name of an op, without the number that distinguishes functions of one name in a process.
    """
    return node.op.name.partition("#")[0]


def _short_code(code: str) -> str:
    version, dash, digits = code.rpartition("-")
    return f"{version}{dash}{digits[:6]}"


def _key_of(blob: Blob, key: object) -> str:
    """The key of a field in a batch; without keys, the name of the output."""
    outputs = blob.node.identity.outputs if blob.node.identity else ()
    own = outputs[blob.index] if blob.index < len(outputs) else blob.name.rpartition("/")[2]
    return own if key is None else str(key)


class Graph:
    """The nodes of a loader.

    Attributes:
        renumbered: Views that had another random order in versions that numbered views.
    """

    def __init__(self, blobs: Sequence[Blob], keys: Sequence[object] | None = None) -> None:
        """Takes the blobs that a loader delivers, and their keys in a batch, if it is a dict."""
        nodes = nodes_of(blobs)
        walk = _Walk(nodes)
        names = [_key_of(*one) for one in zip(blobs, keys or [None] * len(blobs), strict=True)]
        origins = [walk.origin(blob) for blob in blobs]
        views = {node.name: _VIEW for node in nodes if node.name and _draws_by_name(node)}
        self.renumbered = _several_without_name(nodes)
        self._nodes = {label: node for node, label in walk.labels.items()}
        self._origins = walk.origin
        self._fields = list(zip(names, blobs, origins, strict=True))
        own = {_label_in_state(name): one for name, one in (walk.digests | views).items()}
        self._digest = GraphDigest(own, _keyed(names, [one.digest for one in origins]))
        self._texts = list(self._forms())

    def _forms(self) -> Iterator[str]:
        """The digests as a text, in four forms: with labels; with hashes of labels; without nodes;
        one digest of everything.
        """
        written = [f"{key:-<{_KEY}}{digest}" for key, digest in self._digest.fields]
        fields = "=" + "".join(sorted(written))
        nodes = self._digest.nodes
        views = [f"{label}:{'.'.join(one)}" for label, one in nodes.items() if one == _VIEW]
        others = {label: ".".join(one) for label, one in nodes.items() if one != _VIEW}
        words = [f"{label}:{one}" for label, one in others.items()]
        hashes = [f"~{short_hash(label)}:{one}" for label, one in others.items()]
        whole = short_hash(" ".join([*sorted(views), fields]), 8)
        yield " ".join([whole, *views, *words, fields])
        yield " ".join([whole, *views, *hashes, fields])
        yield " ".join([whole, *views, fields])
        yield whole

    def text(self, room: int) -> str:
        """The digests for a state, in the longest form for which there is room."""
        most = min(room, _MOST_CHARACTERS)
        return next((one for one in self._texts if len(one) <= most), self._texts[-1])

    # ---- Comparison ---------------------------------------------------------------------------

    def differences(self, text: str) -> list[str]:
        """Sentences about the differences from the graph of a state.  The loader may deliver more
        or fewer fields, under other keys.
        """
        own, (whole, saved) = self._texts[-1], _read(text)
        if whole == own:
            return []
        if not saved.nodes and not saved.fields:
            return [f"the ops of the graph, or their code, are others: {own}, in the state "
                    f"{whole}; there are too many to say which"]  # fmt: skip
        views = self._view_differences(saved)
        fields = [self._fields[index] for index in _others(saved.fields, self._digest.fields)]
        if not fields:
            return views
        found = [*views, *self._of_nodes([blob for _, blob, _ in fields], saved)]
        if found:
            return found
        listed = ", ".join(f"{name} of {origin.said}" for name, _, origin in fields[:_MOST_NODES])
        return [f"it delivers {listed} in place of other blobs", *self._of_numbers(fields, saved)]

    def _view_differences(self, saved: GraphDigest) -> list[str]:
        own = {label for label, one in self._digest.nodes.items() if one == _VIEW}
        before = {label for label, one in saved.nodes.items() if one == _VIEW}
        return [
            f"{shown(one)} is the name of a view, on which its order depends, in "
            f"{'the loader' if one in own else 'the state'} alone"
            for one in sorted(own ^ before)
        ]

    def _of_nodes(self, blobs: Sequence[Blob], saved: GraphDigest) -> list[str]:
        """Sentences about the differences in the nodes that compute some blobs."""
        labels = {node: label for label, node in self._nodes.items()}
        upstream = [labels[node] for node in nodes_of(blobs) if node in labels]
        in_words = not any(label.startswith("~") for label in saved.nodes)
        found: list[str] = []
        for name in upstream:
            label = _label_in_state(name)
            own = self._digest.nodes.get(label)
            before = saved.nodes.get(label if in_words else f"~{short_hash(label)}")
            if own is None or before == own:
                continue
            if before is None:
                found += self._of_new(name, own, saved) if in_words else []
            else:
                found += self._of_changed(name, own, before, [
                    one for one, now in self._digest.nodes.items() if now != own
                    and saved.nodes.get(one if in_words else f"~{short_hash(one)}") == own
                ])  # fmt: skip
        return found

    def _of_changed(
        self, name: str, own: NodeDigest, saved: NodeDigest, others: Sequence[str]
    ) -> Iterator[str]:
        """Sentences about a node that the state has with another digest; `others` are what it was
        in the state.
        """
        others = [one for one in others if _NUMBERED.sub("", one) == _NUMBERED.sub("", name)]
        if others:
            if _draws_in_rows(self._nodes[name]):
                yield f"{self._said(name)} was {others[0]} in the state; {_ORDER}"
            return
        version, before = own.code.rpartition("-")[0], saved.code.rpartition("-")[0]
        if version != before:
            yield (
                f"{self._said(name)}: whether its function is the same is not known: it has no "
                f"source, and was compiled by {before or 'no'} Python for the state, "
                f"{version or 'none'} now; load the state with that version, or define the "
                "function in a file"
            )
        elif own.code != saved.code:
            identity = self._nodes[name].identity
            what = Identity.what if identity is None else identity.what
            yield (
                f"{name}: {what} changed since the state was saved{self._place(name)} (digest "
                f"{own.code or 'none'}, in the state {saved.code or 'none'})"
            )
        if own.attrs != saved.attrs:
            yield (
                f"{name}: its attrs, or the types of its outputs, are others: {own.attrs}, in the "
                f"state {saved.attrs}"
            )
        if own.inputs != saved.inputs:
            inputs = ", ".join(self._origins(one).said for one in self._nodes[name].inputs)
            yield f"{name}: it is computed from {inputs}, and from something else in the state"

    def _of_new(self, name: str, own: NodeDigest, saved: GraphDigest) -> Iterator[str]:
        """A sentence about a node that the state does not have, but has another node in its place.
        """
        gone = [one for one, before in saved.nodes.items()
                if one not in self._digest.nodes and before[1:] == own[1:]]  # fmt: skip
        if gone:
            yield (
                f"it delivers the results of {self._said(name)} in place of other blobs: of "
                f"{gone[0]} in the state. If this function was renamed, load the state with its "
                "former name; name= of map() keeps the random numbers of later runs when a "
                "function is renamed"
            )

    def _of_numbers(
        self, fields: Sequence[tuple[str, Blob, _Origin]], saved: GraphDigest
    ) -> list[str]:
        """Sentences about nodes without names, whose numbers may belong to other nodes in the
        state.
        """
        labels = {node: label for label, node in self._nodes.items()}
        nodes = nodes_of([blob for _, blob, _ in fields], enters_readers=True)
        drawing = [labels[node] for node in nodes
                   if not node.name and node in labels and _draws_in_rows(node)
                   and not node.op.is_reader and not node.op.is_view]  # fmt: skip
        counted = _other_counts(saved.nodes, self._digest.nodes)
        if counted or not drawing:
            return counted
        listed = ", ".join(map(self._said, drawing[:_MOST_NODES]))
        return [f"{listed}: {_ORDER}"]

    def _said(self, name: str) -> str:
        """The label, with the place of the node's function."""
        identity = self._nodes[name].identity
        return name if identity is None else f"{name} ({identity.said})"

    def _place(self, name: str) -> str:
        identity = self._nodes[name].identity
        return "" if identity is None else f": {identity.said}"


def _keyed(names: Sequence[str], digests: Sequence[str]) -> list[tuple[str, str]]:
    """Hashes of keys, "" where several have one key, and the digests of fields."""
    keys = [short_hash(name, _KEY) for name in names]
    count = Counter(keys)
    return [
        (key if count[key] == 1 else "", short_hash(digest, _FIELD))
        for key, digest in zip(keys, digests, strict=True)
    ]


def _others(saved: Sequence[tuple[str, str]], own: Sequence[tuple[str, str]]) -> list[int]:
    """The fields of a loader that are computed differently than in a state.  Fields with other keys
    may be the same fields under other names, additional fields, or fewer.
    """
    before = {key: digest for key, digest in saved if key}
    other = [i for i, (key, digest) in enumerate(own) if before.get(key, digest) != digest]
    keys = {key for key, _ in own if key} & {*before}
    rest = Counter(digest for key, digest in saved if key not in keys)
    new = [i for i, (key, _) in enumerate(own) if key not in keys]
    found = Counter(own[i][1] for i in new)
    if not (found <= rest or rest <= found):
        other += [i for i in new if own[i][1] not in rest]
    return other


def _other_counts(saved: Iterable[str], own: Iterable[str]) -> list[str]:
    """Sentences about ops of which the loader has more or fewer nodes without names than the state:
    another node may have the label of each node, and its random numbers.
    """
    before, now = (Counter(_NUMBERED.sub("", one) for one in labels if _NUMBERED.search(one))
                   for labels in (saved, own))  # fmt: skip
    return [
        f"{kind}: the graph has {now[kind]} of these nodes without a name, the state {before[kind]}"
        ", so that another one may have the random numbers of each; give them name="
        for kind in sorted({*before} & {*now})
        if before[kind] != now[kind]
    ]


def _several_without_name(nodes: Iterable[Node]) -> list[str]:
    views = [node for node in nodes if node.op.is_view]
    counts = Counter(node.op.name for node in views)
    found = [node for node in views if _draws_by_name(node) and not node.name]
    return sorted({node.op.name for node in found if counts[node.op.name] > 1})


def _read(text: str) -> tuple[str, GraphDigest]:
    """The digest of all together, and the digests, in a state whose checksum is right."""
    whole, *rest = text.split(" ")
    nodes, fields, size = {}, "", _KEY + _FIELD
    for one in rest:
        label, _, digests = one.rpartition(":")
        if one.startswith("="):
            fields = one[1:]
        else:
            nodes[label] = NodeDigest(*digests.rsplit(".", 2))
    pieces = [fields[i : i + size] for i in range(0, len(fields), size)]
    return whole, GraphDigest(nodes, [(one[:_KEY].strip("-"), one[_KEY:]) for one in pieces])
