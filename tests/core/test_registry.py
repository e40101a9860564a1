"""Rules that every op obeys, found by walking the registry."""

import collections
import functools
import keyword
import re

import numpy as np
import pytest
from support import programs
from support.paths import ROOT

import pyflowdata as flow
from pyflowdata.native import ffi, lib
from tools.version import version


def text(pointer):
    return None if pointer == ffi.NULL else ffi.string(pointer).decode()


def walk():
    found = []
    while (op := lib.pfd_op_at(len(found))) != ffi.NULL:
        found.append(op)
    # Those that other tests have registered are theirs.
    return [op for i, op in enumerate(found) if text(lib.pfd_op_origin(i)) == "built in"]


OPS = {text(op.name): op for op in walk()}
READERS = [name for name, op in OPS.items() if op.open != ffi.NULL]
every_op = pytest.mark.parametrize("name", OPS)


def snake_case(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def attr_names(op):
    return [text(op.attrs[i].name) for i in range(op.num_attrs)]


def port_names(ports, count):
    return [text(ports[i].name) for i in range(count)]


def find(name):
    out, err = ffi.new("const pfd_op **"), ffi.new("pfd_error *")
    status = lib.pfd_op_find(name.encode(), out, err)
    return out[0] if status == lib.PFD_OK else ffi.string(err.message).decode()


# ---- Each op ------------------------------------------------------------------------------------


def test_there_are_ops():
    assert {"MiniReader", "MiniDecoder", "Affine"} <= set(OPS)
    assert lib.pfd_op_at(-1) == ffi.NULL
    assert lib.pfd_op_at(10**6) == ffi.NULL


@functools.cache
def words_of(folder):
    """Words of the tests in a folder."""
    return {word for path in folder.glob("*.py") for word in re.findall(r"\w+", path.read_text())}


def test_an_op_is_one_file_and_one_test():
    files = collections.defaultdict(list)
    for path in (ROOT / "csrc").rglob("*.c"):
        files[path.stem.replace("_", "")].append(path.relative_to(ROOT))
    rooms = ("formats", "ops", "images", "views")
    topics = {"images": "images", "views": "datasets"}
    for name in OPS:
        sources = files[name.lower()]
        assert len(sources) == 1 and sources[0].parts[1] in rooms, f"{name}: {sources}"
        if sources[0].parts[1] == "ops":
            has_test = (ROOT / f"tests/ops/test_{sources[0].stem}.py").is_file()
        else:  # those of a format or several, of images, of data sets are tested by topic
            room = sources[0].parent.relative_to("csrc")
            tests = ROOT / "tests" / topics.get(room.parts[0], room)
            folders = [tests, tests.parent, ROOT / "tests/support/views"]
            has_test = any(name in words_of(folder) for folder in folders)
        assert has_test, f"{name} has no test"


def test_docs_are_sentences():
    for name, op in OPS.items():
        docs = [text(op.doc)]
        docs += [text(op.attrs[i].doc) for i in range(op.num_attrs)]
        docs += [text(op.inputs[i].doc) for i in range(op.num_inputs)]
        docs += [text(op.outputs[i].doc) for i in range(op.num_outputs)]
        for doc in docs:
            is_sentence = re.fullmatch(r"\S[^\n\t]*[^\s.]\.", doc) and "  " not in doc
            assert is_sentence, f"{name}: {doc}"


def test_names_can_be_used_in_python():
    for name, op in OPS.items():
        inputs = port_names(op.inputs, op.num_inputs)
        attrs = attr_names(op)
        outputs = port_names(op.outputs, op.num_outputs)
        assert name.isidentifier() and not keyword.iskeyword(name)
        assert len({*inputs, *attrs, "name"}) == len(inputs) + len(attrs) + 1, name
        assert len(set(outputs)) == len(outputs), name
        assert not any(keyword.iskeyword(attr) for attr in attrs), name


def test_an_op_is_a_function_of_the_package():
    for name, op in OPS.items():
        function = getattr(flow, name)
        assert function.__name__ == name
        first_sentence = text(op.doc).split(". ")[0].rstrip(".")
        assert " ".join(function.__doc__.split()).startswith(first_sentence), name
        for attr in attr_names(op):
            assert attr in function.__doc__, f"{name}, {attr}"


@every_op
def test_a_misspelt_attr_is_refused(name):
    op = OPS[name]
    inputs = [flow.MiniReader("nowhere") for _ in range(op.num_inputs)]
    with pytest.raises(flow.InvalidArgumentError, match="unknown attr 'no_such_thing'"):
        getattr(flow, name)(*inputs, no_such_thing=1)
    for attr in attr_names(op):
        misspelt = attr[:-2] + attr[-1] + attr[-2] if attr[-1] != attr[-2] else attr[:-1]
        if misspelt in attr_names(op):
            continue
        near = "|".join({attr, attr.removesuffix("s")} & set(attr_names(op)))  # length, lengths
        with pytest.raises(flow.InvalidArgumentError, match=f"did you mean '({near})'"):
            getattr(flow, name)(*inputs, **{misspelt: 1})


def test_functions_are_there():
    for name, op in OPS.items():
        assert op.infer != ffi.NULL and op.num_inputs + (op.open != ffi.NULL) > 0, name
        if not op.flags & lib.PFD_VIEW:
            assert op.compute != ffi.NULL, name
            assert (op.open != ffi.NULL) == (op.num_inputs == 0), name
        assert op.num_outputs > 0, name


@every_op
def test_defaults_are_allowed(name):
    for row in (OPS[name].attrs[i] for i in range(OPS[name].num_attrs)):
        default, attr = text(row.default_value), text(row.name)
        if default is None:
            continue
        if row.type == lib.PFD_ATTR_DTYPE and default == "":  # the op infers it
            continue
        if row.type == lib.PFD_ATTR_BOOL:
            assert default in ("true", "false"), attr
        limited = row.min != row.max
        if limited and row.type in (lib.PFD_ATTR_INT32, lib.PFD_ATTR_INT64):
            assert row.min <= int(default) <= row.max, attr
        if limited and row.type in (lib.PFD_ATTR_FLOAT32, lib.PFD_ATTR_FLOAT64):
            assert row.min <= float(default) <= row.max, attr
        if row.choices != ffi.NULL:
            assert default in text(row.choices).split("|"), attr
        if row.type == lib.PFD_ATTR_DTYPE:
            assert np.dtype(default).name == default, attr


@pytest.mark.parametrize("name", READERS)
def test_readers_share_the_attrs_of_the_host(name):
    first, op = OPS[READERS[0]], OPS[name]
    common = "batch_size last_batch random_shuffle shuffle shuffle_after_epoch shuffle_buffer_size "
    common += "shuffle_block_size shuffle_window shuffle_lanes seed "
    common += "order_key group_buffer_size rank world_size on_error max_skipped max_errors "
    common += "with_mask with_id"
    count = len(common.split())
    assert attr_names(op)[-count:] == common.split()
    assert port_names(op.outputs, op.num_outputs)[-2:] == ["mask", "id"]
    for i in range(1, count + 1):
        mine, other = op.attrs[op.num_attrs - i], first.attrs[first.num_attrs - i]
        assert text(mine.doc) == text(other.doc)
        assert text(mine.default_value) == text(other.default_value)


def test_the_host_fills_mask_and_id():
    _, mask, ids = flow.MiniReader("nowhere", batch_size=4, with_mask=True, with_id=True)
    assert (mask.dtype, mask.shape) == (np.bool_, (4,))
    assert (ids.dtype, ids.shape) == (np.int64, (4, 2))


# ---- Names --------------------------------------------------------------------------------------


def test_spellings():
    for name, op in OPS.items():
        snake = snake_case(name)
        for spelling in (name, snake, snake.upper(), name.lower(), name[0].lower() + name[1:]):
            assert find(spelling) == op, spelling


@pytest.mark.parametrize(
    "given, meant",
    [
        ("MiniReadr", "MiniReader"),
        ("MiniRaeder", "MiniReader"),
        ("mini_decodr", "MiniDecoder"),
        ("afine", "Affine"),
        ("minidecoder2", "MiniDecoder"),
    ],
)
def test_near_names(given, meant):
    message = find(given)
    assert message.startswith(f"unknown op '{given}'; did you mean '{meant}'?")
    assert "pyflowdata ops" in message


@pytest.mark.parametrize("given", ["", "x" * 5000, "Mini Reader 3000", "\n", "MiniReader\x01"])
def test_names_of_no_op(given):
    assert find(given).startswith("unknown op '")


def test_an_unknown_op_of_the_builder():
    with pytest.raises(flow.InvalidArgumentError, match="did you mean 'MiniReader'"):
        flow.user_op_builder("r").Op("MiniReeder").Output("out").Build()


# ---- Types and version --------------------------------------------------------------------------


def test_dtypes_are_those_of_numpy():
    numbers = range(lib.PFD_BOOL, lib.PFD_BFLOAT16 + 1)
    names = [text(lib.pfd_dtype_name(dtype)) for dtype in numbers]
    for dtype, name in zip(numbers, names[:-1], strict=False):
        assert np.dtype(name).name == name
        assert np.dtype(name).itemsize == lib.pfd_dtype_size(dtype)
    assert len(set(names)) == 13 and names[-1] == "bfloat16"  # which NumPy does not have
    assert lib.pfd_dtype_size(lib.PFD_BFLOAT16) == 2
    with pytest.raises(flow.InvalidArgumentError, match=f"one of {', '.join(names)};"):
        flow.Cast(np.zeros(2), dtype="bool8")
    for dtype in (lib.PFD_BOOL - 1, lib.PFD_BFLOAT16 + 1, -(2**31)):
        assert lib.pfd_dtype_name(dtype) == ffi.NULL
        assert lib.pfd_dtype_size(dtype) == 0


def test_the_version_is_stated_once():
    assert version() == text(lib.pfd_version()) == flow.__version__


HUNDREDS = """
import pyflowdata as flow
from pyflowdata.nodes import find_op

def same(x):
    return x

def add(number, output, **options):
    flow.register_decoder(same, name=f"Op{number}", outputs={output: ("float64", ())}, **options)

for number in range(300):
    add(number, "out")
add(7, "other", replace=True)
for number in range(300):
    assert find_op(f"op{number}").name == f"Op{number}"
print(find_op("op7").outputs[0].name, find_op("Op299").origin.split()[0])
"""


@pytest.mark.slow
def test_hundreds_of_ops_are_added_and_found():
    """In a separate process: they stay as long as it does."""
    out = programs.run(HUNDREDS, check=True).stdout.split()
    assert out == ["other", "python"]
