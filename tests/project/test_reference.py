"""The reference has every op, public name, command and header, made of the code; its examples print
what they say."""

import re

import pyflowdata as flow
from pyflowdata.cli import COMMANDS
from tools.site import examples, op_pages, op_groups, python_pages, reference

PAGES = reference.pages()
EXAMPLES = sorted(path.stem for path in examples.FOLDER.glob("*.py"))
ALL = "\n".join(page.text for page in PAGES.values())
BUILT_IN = [op for op in op_groups.registered_ops() if op.origin == "built in"]


def anchors(folder):
    return {anchor for path, page in PAGES.items() if path.startswith(f"reference/{folder}")
            for anchor in re.findall(r"^##+ .* \{ #([\w.-]+) \}$", page.text, re.M)}  # fmt: skip


def test_every_op_with_all_its_attrs():
    assert {op.name for op in BUILT_IN} <= anchors("ops/") and len(BUILT_IN) > 90
    shared = PAGES["reference/ops/readers.md"].text
    for op in BUILT_IN:
        (page,) = (page for page in PAGES.values() if f"{{ #{op.name} }}" in page.text)
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
            "JaxLoader", "read", "check_reader"} <= names  # fmt: skip
    for method in op_pages.METHODS.values():
        assert method in names


def test_every_command_with_its_options():
    assert {name.replace("_", "-") for name in COMMANDS} <= anchors("commands")
    assert "--skip-damaged" in PAGES["reference/commands.md"].text


def test_headers_have_all_declarations():
    for name, declared in {"op-h": "pfd_op", "pyflowdata-h": "pfd_loader_open"}.items():
        assert re.search(rf"\b{declared}\b", PAGES[f"reference/c/{name}.md"].text)
    header = (op_groups.ROOT / "csrc/include/pyflowdata/op.h").read_text()
    page = PAGES["reference/c/op-h.md"].text
    body = header.partition("/* cdef-begin */")[2].partition("/* cdef-end */")[0]
    for line in body.splitlines():
        if line and not line.lstrip().startswith(("/*", "*")):
            assert line in page, line


def test_links_inside_the_reference_lead_somewhere():
    for path, page in PAGES.items():
        for target, anchor in re.findall(r"\]\(([\w./-]*\.md)?#([\w.-]+)\)", page.text):
            base = path.rpartition("/")[0].split("/")
            place = path
            if target:
                parts = target.split("/")
                while parts[0] == "..":
                    parts, base = parts[1:], base[:-1]
                place = "/".join([*base, *parts])
            if place in PAGES:
                assert f"#{anchor} }}" in PAGES[place].text, (path, place, anchor)


def test_every_op_has_an_example_that_prints_what_it_says():
    assert EXAMPLES == sorted(op.name for op in BUILT_IN)
    for name in EXAMPLES:
        assert examples.run(name) == examples.of(name).output, name
