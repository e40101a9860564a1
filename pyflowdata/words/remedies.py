"""What to do in place of a wrong use: each remedy in one wording for all messages."""

from __future__ import annotations

from collections.abc import Iterable


# ---- Names that are alike -----------------------------------------------------------------------


def similar(name: str, known: Iterable[str], least: float = 0.6) -> str | None:
    """The known name that is most like this one; None: none has at least that likeness of 1.
    Names that begin with "_" are private."""
    import difflib  # for messages alone

    public = [one for one in known if not one.startswith("_")]
    near = difflib.get_close_matches(name, public, 1, least)
    return near[0] if near else None


def did_you_mean(name: str, known: Iterable[str], least: float = 0.6) -> str:
    """`; did you mean 'x'?`, for the end of a message about a name; "": the name is like none."""
    near = similar(name, known, least)
    return "" if near is None else f"; did you mean {near!r}?"


def is_arrow(given: object) -> bool:
    """Whether an object of the user gives Arrow data by the PyCapsule protocol: a table, mostly."""
    kind = type(given)
    return hasattr(kind, "__arrow_c_stream__") or hasattr(kind, "__arrow_c_array__")


def of_hugging_face(given: object) -> str:
    """The remedy for a data set of Hugging Face in place of arrays or blobs; "": it is none."""
    is_one = type(given).__module__.partition(".")[0] == "datasets"
    return "; pyflowdata.integrations.huggingface.from_datasets() takes it" if is_one else ""


# ---- What to do, in one wording -----------------------------------------------------------------

BATCH_SIZE = "batch_size= of the reader, or .batch(n) of a data set"
CHOOSE = "data.project([...]), or --fields of a command"
DEVICE = (
    'pyflowdata.integrations.torch.TorchLoader(loader, device="cuda") gives batches on a device'
)
KIT = "pip install pyflowdata-kit; in a clone, pip install ./kit"
FROM_ARRAYS = 'flow.from_arrays({"x": x, "y": y})'
FROM_ARROW = "flow.from_arrow(table) makes a data set of it"
MIX = "flow.mix([a, b])"
ON_DATA = "call it on the data set, which flow.open gives, before its .batch(n)"
ORDER = "the data have the order"
OWN_OP = "flow.register_decoder makes an op of a function of arrays"
SEED = "seed= of the reader, or of .shuffle() of a data set"
SHUFFLE = "shuffle=True of the reader, or .shuffle() of a data set, before .batch(n)"
SKIP_DAMAGED = "; data.skip_damaged() before it leaves damaged records out"
SPLIT = "split([0.9, 0.1])"
WHERE_TEXT = "choose records by data.where('x == \"a\"')"

ANY_ORDER = (
    f"{ORDER}: shuffle=True of the reader, or data.shuffle(), data.sample(weights) or "
    "data.select(indices)"
)
