"""Values of attrs: each type, each wrong kind, limits, choices, defaults, and what messages say."""

import enum
import pathlib

import numpy as np
import pytest

import pyflowdata as flow


# ---- Built-in ops -------------------------------------------------------------------------------


def refused(call, *args, **kwargs):
    with pytest.raises(flow.InvalidArgumentError) as caught:
        call(*args, **kwargs)
    assert isinstance(caught.value, ValueError)
    return caught.value


def test_values_reach_the_op():
    assert flow.MiniReader("data", batch_size=6, world_size=3, rank=2).shape == (6, 2)
    assert flow.MiniReader("data", batch_size=np.int64(6)).shape == (6, 2)
    rec = flow.MiniReader("data")
    assert flow.Affine(rec, dtype="float32").dtype == np.float32
    assert flow.Affine(rec, dtype=np.float64, scale=2, shift=np.float32(0.5)).dtype == np.float64


class Number(enum.IntEnum):
    SIX = 6


class Secret:
    def __repr__(self):
        raise ValueError("not told")


def test_enums_of_ints_are_ints():
    assert flow.MiniReader("data", batch_size=Number.SIX).shape == (6, 2)
    assert flow.MiniReader("data", batch_size=True + 5).shape == (6, 2)


ENDLESS = []
ENDLESS.append(ENDLESS)


@pytest.mark.parametrize(
    "value, says",
    [
        (np.timedelta64(3), "timedelta64); it must be an int"),
        (np.datetime64(3, "ns"), "datetime64); it must be an int"),
        (np.array([1, 2], dtype="m8"), "ndarray); it must be an int"),
        ([np.timedelta64(3)], "timedelta64"),
        (ENDLESS, r"[[...]] (list)"),
        (Secret(), "<Secret without a repr()>"),
        ([Secret()], "<Secret without a repr()>"),
        (10**10000, "must be a number of 64 bits"),
        (b"x" * 10**6, "xxx... (bytes)"),
    ],
    ids=range(9),
)
def test_what_is_no_value_is_told_in_short(value, says):
    error = str(refused(flow.MiniReader, "data", batch_size=value))
    assert says in error
    assert len(error) < 400


@pytest.mark.usefixtures("test_ops")
def test_a_missing_attr_is_explained():
    error = refused(flow.NamedReader, files="a")
    assert error.op == "NamedReader"
    assert "attr 'columns' is required (list of strings): " in str(error)


@pytest.mark.parametrize(
    "attrs, says",
    [
        ({"batch_size": 0}, "attr 'batch_size' = 0; it must be in [1, 2147483647]"),
        ({"batch_size": -3}, "attr 'batch_size' = -3; it must be in [1, 2147483647]"),
        ({"batch_size": 2**31}, "attr 'batch_size' = 2147483648; it must be in [1, 2147483647]"),
        ({"batch_size": 2**64}, "18446744073709551616"),
        ({"batch_size": "4"}, "attr 'batch_size' = '4' (a string); it must be an integer"),
        ({"batch_size": 4.0}, "attr 'batch_size' = 4.0 (a float); it must be an integer: use 4"),
        ({"batch_size": 4.5}, "attr 'batch_size' = 4.5 (a float); it must be an integer"),
        ({"batch_size": True}, "attr 'batch_size' = True (a bool); it must be an integer"),
        ({"batch_size": [4]}, "attr 'batch_size' = [4] (a list of integers); it must be an integ"),
        ({"batch_size": None}, "'batch_size' = None"),
        ({"random_shuffle": 1}, "(an integer); it must be a bool: use True or False"),
        ({"random_shuffle": "yes"}, "(a string); it must be a bool: use True or False"),
        ({"seed": -2}, "attr 'seed' = -2; it must be at least -1"),
        ({"order_key": 3}, "attr 'order_key' = 3 (an integer); it must be a string"),
        (
            {"last_batch": "shrt"},
            "attr 'last_batch' = 'shrt'; it must be one of short, drop, pad, wrap, even; "
            "did you mean 'short'?",
        ),
        ({"last_batch": ""}, "attr 'last_batch' = ''; it must be one of short, drop, pad, wrap, "
         "even"),
        ({"on_error": "ignore"}, "it must be one of raise, skip, pad"),
        ({"batch_size": 5, "rank": 0, "world_size": 2}, "= 2: the nearest sizes are 4 and 6"),
        ({"batch_size": 1, "rank": 0, "world_size": 3}, "world_size = 3: the smallest size is 3"),
        ({"batch_size": 4, "world_size": 4, "rank": 4}, "attr 'rank' = 4; it must be in [0, 3]"),
        ({"rank": -2}, "attr 'rank' = -2; it must be in [-1, "),
        ({"rank": 2}, "attr 'rank' = 2 is given, but 'world_size' is not; give both, or neither"),
        ({"world_size": 1}, "attr 'world_size' = 1 is given, but 'rank' is not; give both, or"),
        ({"rank": -1, "world_size": 2}, "'world_size' = 2 is given, but 'rank' is not"),
        ({"rank": 0, "world_size": 0}, "attr 'world_size' = 0; it must be at least 1"),
        ({"rank": None, "world_size": 1}, "'world_size' = 1 is given, but 'rank' is not"),
        ({"last_batch": None}, "'last_batch' = None (NoneType); it must be a str, such as 'short'"),
        ({"batchsize": 4}, "unknown attr 'batchsize'; did you mean 'batch_size'?"),
        ({"part_num": 4}, "unknown attr 'part_num'; did you mean 'data_part_num'?"),
        ({"random_seed": 4}, "unknown attr 'random_seed'; did you mean 'seed'?"),
        ({"shuffled": True}, "unknown attr 'shuffled'; did you mean 'shuffle'?"),
        ({"shuffle": 1}, "attr 'shuffle' = 1 (int); it must be one of auto, none, global, "
         "window, buffer, true, false"),
        ({"batch_size": "4"}, "attr 'batch_size' = '4' (a string); it must be an integer: use 4"),
        ({"on_error": 0}, "attr 'on_error' = 0 (int); it must be one of raise, skip, pad"),
        ({"shuffle": "windo"}, "window, buffer, true, false; did you mean 'window'?"),
        ({"shuffle": "none", "random_shuffle": True}, "leave one of the two out"),
        (
            {"shuffle": "window", "shuffle_block_size": 2**20, "shuffle_window": 2**12},
            "are windows of 4294967296 records; the most is 2147483648",
        ),
        ({"shuffle_window": 0}, "attr 'shuffle_window' = 0; it must be in [1, 2147483647]"),
        ({"xyz": 4}, "unknown attr 'xyz'. Attrs of MiniReader: data_dir, "),
    ],
)
def test_refusals_of_a_reader(attrs, says):
    error = refused(flow.MiniReader, "data", **attrs)
    assert error.op == "MiniReader"
    assert says in str(error)


def test_paths_in_place_of_a_folder():
    said = str(refused(flow.MiniReader, ["a"]))
    assert said.endswith("the folder of part files: paths of files are given as files=")


def test_a_misspelt_attr_is_not_reported_as_a_missing_one():
    assert "did you mean 'data_dir'" in str(refused(flow.MiniReader, data_dri="data"))


def test_refusals_of_a_decoder():
    rec = flow.MiniReader("data", batch_size=4)
    assert "(a string); it must be a list of floats" in str(refused(flow.Affine, rec, scale="a"))
    said = str(refused(flow.Affine, rec, dtype="int8"))
    assert "it must be one of float16, float32, float64, bfloat16" in said
    assert "did you mean 'float32'?" in str(refused(flow.Affine, rec, dtype="flaot32"))


def test_nothing_is_opened_by_a_node():
    assert flow.MiniReader("there/is/no/such/folder", batch_size=2).shape == (2, 2)


# ---- Every type, by a test op -------------------------------------------------------------------

# Arguments as Python text -> the line that the op shows for what was stored.
STORED = {
    "": "flag=1",
    "flag=False": "flag=0",
    "flag=np.bool_(False)": "flag=0",
    "i32=2**31 - 1": "i32=2147483647",
    "i32=-2**31": "i32=-2147483648",
    "i32=np.int8(-3)": "i32=-3",
    "i32=np.array(5)": "i32=5",
    "i64=2**63 - 1": "i64=9223372036854775807",
    "i64=-2**63": "i64=-9223372036854775808",
    "i64=np.uint64(2**63 - 1)": "i64=9223372036854775807",
    "f32=3": "f32=3",
    "f32=0.1": f"f32={np.float32(0.1):.9g}",
    "f32=float('inf')": "f32=inf",
    "f32=np.float16(0.5)": "f32=0.5",
    "f64=0.1": "f64=0.10000000000000001",
    "f64=2**53": "f64=9007199254740992",
    "f64=-0.0": "f64=-0",
    "f64=5e-324": "f64=4.9406564584124654e-324",
    "text=''": "text=",
    "text='héllo wörld'": "text=héllo wörld",
    "text=np.str_('n')": "text=n",
    "text=pathlib.Path('a/b')": "text=a/b",
    "dtype='bool'": "dtype=1",
    "dtype=np.uint8": "dtype=3",
    "dtype=np.dtype('i8')": "dtype=8",
    "dtype=float": "dtype=12",
    "shape=()": "shape=",
    "shape=(4, 0, 2)": "shape=4,0,2",
    "shape=np.zeros((5, 6)).shape": "shape=5,6",
    "shape=[1] * 8": "shape=1,1,1,1,1,1,1,1",
    "ints=[2**63 - 1, -2**63]": "ints=9223372036854775807,-9223372036854775808",
    "ints=np.array([1, 2], dtype=np.int16)": "ints=1,2",
    "ints=[np.int32(7), 8]": "ints=7,8",
    "floats=[]": "floats=",
    "floats=[1, 2]": "floats=1,2",
    "floats=(0.5, 2)": "floats=0.5,2",
    "floats=np.array([0.25])": "floats=0.25",
    "floats=0.5": "floats=0.5",
    "floats=3": "floats=3",
    "floats=np.float32(0.25)": "floats=0.25",
    "strings=[]": "strings=",
    "strings=('x', '')": "strings=x,",
    "strings='x'": "strings=x",
    "digit=9": "digit=9",
    "ratio=0": "ratio=0",
    "ratio=1.0": "ratio=1",
    "positive=1e308": "positive=1e+308",
    "colour='blue'": "colour=blue",
    "digits=[0, 9]": "digits=0,9",
    "ratios=[0, 1]": "ratios=0,1",
    "colours=['green', 'red']": "colours=green,red",
}

DEFAULTS = """flag=1 i32=-7 i64=-9223372036854775808 f32=0.100000001 f64=1e-300 text=part- dtype=10
shape=2,3 ints= floats=0.5,-1 digit=0 ratio=1 positive=1 colour=red digits= ratios= colours="""

# Arguments -> what the message says.
REFUSED = {
    "flag=0": "attr 'flag' = 0 (an integer); it must be a bool: use True or False",
    "flag=1.0": "attr 'flag' = 1.0 (a float); it must be a bool: use True or False",
    "flag=[True]": "attr 'flag' = [True]",
    "i32=2**31": "attr 'i32' = 2147483648; it must be in [-2147483648, 2147483647]",
    "i32=-2**31 - 1": "attr 'i32' = -2147483649; it must be in [-2147483648, 2147483647]",
    "i32=1e30": "attr 'i32' = 1e+30 (a float); it must be an integer",
    "i32=float('nan')": "attr 'i32' = nan (a float); it must be an integer",
    "i64=2**63": "9223372036854775808",
    "i64=np.uint64(2**63)": "9223372036854775808",
    "i64=-2**63 - 1": "-9223372036854775809",
    "i64=False": "attr 'i64' = False (a bool); it must be an integer",
    "i64=np.float32(2)": "attr 'i64' = 2.0 (a float); it must be an integer: use 2",
    "f32=1e39": "attr 'f32' = 1e+39; it must be in [-3.4028235e+38, 3.4028235e+38]",
    "f32=True": "attr 'f32' = True (a bool); it must be a number",
    "f64='1'": "attr 'f64' = '1' (a string); it must be a number",
    "f64=1j": "attr 'f64' = 1j",
    "text=3": "attr 'text' = 3 (an integer); it must be a string",
    "text=b'x'": "attr 'text' = b'x'",
    "text=['x']": "attr 'text' = ['x'] (a list of strings); it must be a string",
    "text='a\\0b'": "NUL",
    "dtype='flaot32'": "did you mean 'float32'?",
    "dtype='complex64'": "it must be one of bool, int8, uint8, int16, uint16, int32, uint32, int64",
    "dtype=3": "attr 'dtype' = 3",
    "dtype=None": "attr 'dtype' = None",
    "shape=3": "attr 'shape' = 3 (an integer); it must be a list of integers: use [3]",
    "shape=(2, -1)": "attr 'shape' = [2, -1]; element 1 must be at least 0",
    "shape=[1] * 9": "attr 'shape' has 9 dimensions; at most 8 are possible",
    "shape=(2.0, 1)": "attr 'shape' = [2.0, 1.0] (a list of floats); it must be a list of integers",
    "ints=[1, 'a']": "attr 'ints' = [1, 'a']",
    "ints=[2**63]": "9223372036854775808",
    "ints=[True]": "attr 'ints' = [True]",
    "ints='12'": "attr 'ints' = '12' (a string); it must be a list of integers",
    "ints=[[1], [2]]": "attr 'ints' = [[1], [2]]",
    "floats=True": "attr 'floats' = True (a bool); it must be a list of floats",
    "floats=['a']": "attr 'floats' = ['a'] (a list of strings); it must be a list of floats",
    "strings=[1]": "attr 'strings' = [1] (a list of integers); it must be a list of strings",
    "digit=10": "attr 'digit' = 10; it must be in [0, 9]",
    "digit=-1": "attr 'digit' = -1; it must be in [0, 9]",
    "ratio=1.0000000000000002": "attr 'ratio' = 1.0000000000000002; it must be in [0.0, 1.0]",
    "ratio=float('nan')": "attr 'ratio' = nan; it must be in [0.0, 1.0]",
    "ratio=float('-inf')": "attr 'ratio' = -inf; it must be in [0.0, 1.0]",
    "positive=-0.5": "attr 'positive' = -0.5; it must be finite and at least 0.0",
    "positive=float('inf')": "attr 'positive' = inf; it must be finite and at least 0.0",
    "positive=float('nan')": "attr 'positive' = nan; it must be finite and at least 0.0",
    "colour='RED'": "must be one of red, green, blue; did you mean 'red'?",
    "colour='grean\\n'": "attr 'colour' = 'grean\\x0a'; it must be one of red, green, blue",
    "digits=range(11)": "attr 'digits' = ",
    "digits=list(range(11))": "[0, 1, 2, 3, 4, 5, 6, 7, ... 11 elements]; element 10 must be in",
    "ratios=[0.5, 2]": "attr 'ratios' = [0.5, 2.0]; element 1 must be in [0.0, 1.0]",
    "colours=['red', 'gren']": "element 1 must be one of red, green, blue; did you mean 'green'?",
    "color='red'": "unknown attr 'color'; did you mean 'colour'?",
}


@pytest.fixture
def answer(test_ops):
    """What EveryAttr answers: `arguments` -> (class of the exception, message)."""

    def ask(arguments):
        given = eval(f"dict({arguments})", {"flow": flow, "np": np, "pathlib": pathlib})
        with pytest.raises(flow.Error) as caught:
            test_ops.EveryAttr(flow.MiniReader("nowhere"), **given)
        return type(caught.value), caught.value.message

    return ask


@pytest.mark.parametrize("arguments", STORED)
def test_what_is_stored(answer, arguments):
    kind, message = answer(arguments)
    assert kind is flow.UnsupportedError, message
    assert STORED[arguments] in message.split("\n")


def test_defaults(answer):
    lines = answer("")[1].split("\n")
    assert lines.pop(lines.index("strings=a,b c"))
    assert lines == DEFAULTS.split()


@pytest.mark.parametrize("arguments", REFUSED)
def test_what_is_refused(answer, arguments):
    kind, message = answer(arguments)
    assert kind is flow.InvalidArgumentError, message
    assert REFUSED[arguments] in message
