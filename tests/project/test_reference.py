"""The reference has every op, public name, command and header, made of the code; its examples print
what they say."""

import functools
import re

import pyflowdata as flow
from pyflowdata.cli import COMMANDS
from tools.site import examples, op_pages, op_groups, python_pages, reference

EXAMPLES = sorted(path.stem for path in examples.FOLDER.glob("*.py"))
BUILT_IN = [op for op in op_groups.registered_ops() if op.origin == "built in"]


@functools.cache
def pages():
    """Made by the first test that wants them, not by every process that collects tests."""
    return reference.pages()


def anchors(folder):
    return {anchor for path, page in pages().items() if path.startswith(f"reference/{folder}")
            for anchor in re.findall(r"^##+ .* \{ #([\w.-]+) \}$", page.text, re.M)}  # fmt: skip


def test_every_op_with_all_its_attrs():
    assert {op.name for op in BUILT_IN} <= anchors("ops/") and len(BUILT_IN) > 90
    shared = pages()["reference/ops/readers.md"].text
    for op in BUILT_IN:
        (page,) = (page for page in pages().values() if f"{{ #{op.name} }}" in page.text)
        section = page.text.split(f"{{ #{op.name} }}")[1].split("\n## ")[0]
        for attr in op.attrs:
            name = op_pages.code(op_pages.python_name(attr.name))
            row = f'{name} | <span class="facts">{attr.type.word}, '
            assert row in section or row in shared, (op.name, attr.name)
        for port in op.inputs + op.outputs:
            told = section + shared
            assert op_pages.prose(port.doc) in told, (op.name, port.name)


def test_every_public_name():
    names = anchors("python/")
    assert set(flow.__all__) - set(flow.ops.__all__) <= names
    assert python_pages.not_listed() == []
    assert {"DataLoader.state_dict", "Dataset.where", "TFRecordWriter.write", "TorchLoader",
            "JaxLoader", "LoaderMixin", "from_datasets", "read",
            "check_reader"} <= names  # fmt: skip
    for op in BUILT_IN:
        assert not op.method or f"Dataset.{op.method}" in names


def test_every_view_has_its_method():
    views = {op.name for op in op_groups.built_in_ops() if op.is_view}
    assert {op.name for op in op_groups.built_in_ops() if op.method} == views
    for op in op_groups.built_in_ops():
        assert not op.method or callable(getattr(flow.Dataset, op.method)), op.name


def test_every_command_with_its_options():
    assert {name.replace("_", "-") for name in COMMANDS} <= anchors("commands")
    assert "--skip-damaged" in pages()["reference/commands.md"].text


def test_headers_have_all_declarations():
    for name, declared in {"op-h": "pfd_op", "pyflowdata-h": "pfd_loader_open"}.items():
        assert re.search(rf"\b{declared}\b", pages()[f"reference/c/{name}.md"].text)
    header = (op_groups.ROOT / "csrc/include/pyflowdata/op.h").read_text()
    page = pages()["reference/c/op-h.md"].text
    body = header.partition("/* cdef-begin */")[2].partition("/* cdef-end */")[0]
    for line in body.splitlines():
        if line and not line.lstrip().startswith(("/*", "*")):
            assert line in page, line


def test_links_inside_the_reference_lead_somewhere():
    for path, page in pages().items():
        for target, anchor in re.findall(r"\]\(([\w./-]*\.md)?#([\w.-]+)\)", page.text):
            base = path.rpartition("/")[0].split("/")
            place = path
            if target:
                parts = target.split("/")
                while parts[0] == "..":
                    parts, base = parts[1:], base[:-1]
                place = "/".join([*base, *parts])
            if place in pages():
                assert f"#{anchor} }}" in pages()[place].text, (path, place, anchor)


def test_every_op_has_an_example_that_prints_what_it_says():
    assert EXAMPLES == sorted(op.name for op in BUILT_IN)
    for name in EXAMPLES:
        assert examples.run(name) == examples.of(name).output, name
