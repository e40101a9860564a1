"""Names that the package does not have: the error says which one is meant."""

import ast
import functools
import re

import pytest

from support import programs
import pyflowdata as flow
from pyflowdata.nodes import find_op
from pyflowdata.nodes.name_hints import NAMES


@pytest.mark.parametrize("name, says", [
    ("CsvReader", "did you mean 'CSVReader'?"),
    ("MiniReadr", "did you mean 'MiniReader'?"),
    ("ofrecord_raw_decoder", "did you mean 'OFRecordRawDecoder'?"),
    ("image_resize_to_fixed", "did you mean 'ImageResizeToFixed'?"),
    ("Dataloader", "did you mean 'DataLoader'?"),
    ("RandomHorizontalFlip", "RandomHorizontalFlip: RandomFlip(x, horizontal=0.5)"),
    ("Randomhorizontalflip", "RandomHorizontalFlip: RandomFlip(x, horizontal=0.5)"),
    ("Lambda", "flow.register_decoder"),
    ("TFRecord", "did you mean 'TFRecordReader'?"),
    ("TensorDataset", "flow.from_arrays"),
    ("Log", 'data.map(np.log, "x")'),
    ("Stack", "Concat(x, y)"),
    ("Size", "RowLength(x)"),
    ("random_split", "split("),
    ("TorchLoader", "from pyflowdata.integrations.torch import TorchLoader"),
])  # fmt: skip
def test_what_is_meant(name, says):
    with pytest.raises(AttributeError) as caught:
        getattr(flow, name)
    assert f"'{name}'; " in str(caught.value) and says in str(caught.value)
    assert caught.value.name == name


def test_ops_and_the_builder_of_ops_say_the_same():
    for name, says in (("CsvReader", "CSVReader"), ("TFRecord", "TFRecordReader"),
                       ("ToTensor", "Normalize(")):  # fmt: skip
        with pytest.raises(AttributeError, match=re.escape(says)):
            getattr(flow.ops, name)
        if name != "CsvReader":  # a spelling that the registry accepts
            with pytest.raises(flow.InvalidArgumentError, match=re.escape(says)):
                flow.user_op_builder().Op(name)
    assert not hasattr(flow.ops, "xyz")


def test_imports_say_the_same():
    with pytest.raises(ImportError, match="did you mean 'CSVReader'"):
        from pyflowdata import CsvReader  # noqa: F401
    with pytest.raises(ImportError, match="import TorchLoader"):
        from pyflowdata import TorchLoader  # noqa: F401
    with pytest.raises(ImportError, match="did you mean 'TFRecordReader'"):
        from pyflowdata.ops import TFRecord  # noqa: F401


def test_names_like_none():
    for name in ("xyz", "__path_of_nothing__"):
        with pytest.raises(AttributeError, match=f"^pyflowdata has no '{name}'$"):
            getattr(flow, name)
    assert not hasattr(flow, "Compose") and getattr(flow, "Compose", 5) == 5


def test_a_traceback_has_one_suggestion():
    code = "import pyflowdata as flow; flow.MiniReadr"
    said = programs.run(code).stderr
    assert said.casefold().count("did you mean") == 1


def calls(text: str) -> list[ast.Call]:
    """The calls in what a name of another library is answered with."""
    found = []
    for part in text.split(", or "):
        try:
            found += [node for node in ast.walk(ast.parse(part)) if isinstance(node, ast.Call)]
        except SyntaxError:
            pass  # it is a sentence
    return found


def test_what_other_libraries_have_is_named_rightly():
    assert len([name for name, text in NAMES.items() if calls(text)]) > 20
    for name, text in NAMES.items():
        assert not hasattr(flow, name)
        for path, method in re.findall(r"([\w.]*)\.(\w+)\(", text):
            of = functools.reduce(getattr, path.split(".")[1:], flow) if "flow" in path else None
            made = flow.Statistics if "Statistics" in text else flow.Dataset
            assert hasattr(of or made, method), name
        for call in calls(text):
            if isinstance(call.func, ast.Attribute):
                continue
            op = find_op(call.func.id)
            assert op.name == call.func.id and len(call.args) <= max(len(op.inputs), 1)
            given = {keyword.arg for keyword in call.keywords if keyword.arg}
            assert given <= {attr.name for attr in op.attrs}, name
            if call.args:
                given.add("data_dir")
            required = {attr.name for attr in op.attrs if attr.required}
            assert required <= given | {"source"}, name
