"""The arrows of docs/concepts/architecture.md between folders of csrc/: who may include whom."""

import collections
import functools
import graphlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.paths import ROOT
from support.rules import keep, keep_no_circle, line_with
from support.source_tree import C_FILES, FORMATS, OPS, code

# The folders of csrc/ from the lowest up: a file may include its own and those before it.
C_LAYERS = (
    "include", "core", "parse", "images/pixels", "images/codecs", "files", "index", "sources",
    "dataset", "registry", "loader/plan", "loader/watch", "loader/rows", "loader/ring", "loader",
)  # fmt: skip
# Beside each other on top of a layer: a format's folder sees neither another's nor the ops'.
C_OPS = {
    "formats": "sources", "ops": "sources", "images/ops": "sources", "views": "dataset",
}  # fmt: skip
# The files that name what lies above them.
LISTS = ("builtin_ops.c", "builtin_views.c", "builtin_formats.c", "builtin_fusions.c")


def folder_of(path: Path | str) -> str:
    """The folder of a file or an include: "core", "ops", "formats/csv" or "loader/ring"."""
    parts = Path(str(path).replace("pyflowdata/", "include/")).parts
    folder = "/".join(parts[:2])
    is_deep = parts[0] == "formats" or folder in C_LAYERS or folder in C_OPS
    return folder if is_deep else parts[0]


def may_use(user: str, used: str) -> bool:
    if user == used:
        return True
    if used not in C_LAYERS:
        return False
    top = C_OPS.get(user, C_OPS.get(user.split("/")[0], user))
    return C_LAYERS.index(used) <= C_LAYERS.index(top)


@functools.cache
def includes(path: Path) -> list[str]:
    return re.findall(r'#\s*include\s*"([^"]+)"', path.read_text())


DOWN = "a folder of csrc uses only those below it in C_LAYERS; see docs/concepts/architecture.md"


def upward_includes(csrc: Path) -> list[str]:
    """The includes of a tree that do not point down."""
    return [
        f"{line_with(path, included)}: this folder may not include {included}"
        for path in sorted(csrc.rglob("*.[ch]"))
        for included in includes(path)
        if not may_use(folder_of(path.relative_to(csrc)), folder_of(included))
    ]


def test_c_includes_point_down():
    keep(DOWN, upward_includes(ROOT / "csrc"))


@pytest.mark.parametrize("user, used", [
    ("loader/watch/trace.c", "loader/ring/loader_fields.h"),
    ("loader/plan/plan.c", "loader/rows/kernel_call.h"),
    ("loader/rows/row_batch.c", "loader/ring/slots.h"),
])  # fmt: skip
def test_a_room_of_the_loader_sees_none_above_it(tmp_path, user, used):
    (tmp_path / user).parent.mkdir(parents=True)
    (tmp_path / user).write_text(f'#include "{used}"\n')
    assert upward_includes(tmp_path) == [
        f"{tmp_path / user}:1: this folder may not include {used}"
    ]


def test_file_names_of_c_are_unique():
    """A word like ring.h, in a message or a comment, means one file."""
    names = collections.Counter(path.name for path in C_FILES)
    assert len(names) > 200
    twice = [path for path in C_FILES if names[path.name] > 1]
    keep("the name of a file in csrc is there once", (line_with(path, "") for path in twice))


@pytest.mark.parametrize("folder, prefix", [
    (ROOT / "csrc", "PFD_"), (ROOT / "kit/csrc", "PFD_KIT_"),
    (ROOT / "kit/pyflowdata_kit/recompiled", "PFD_KIT_"),
])  # fmt: skip
def test_include_guards_are_paths(folder, prefix):
    """A guard that two headers share would hide one of them."""
    private = [path for path in folder.rglob("*.h") if "include" not in path.parts]
    guards = {path: path.relative_to(folder).as_posix() for path in private}
    guards = {path: prefix + re.sub(r"\W", "_", name).upper() for path, name in guards.items()}
    assert guards
    keep(
        f"a header's guard is {prefix} and its path below {folder.relative_to(ROOT)}/",
        (f"{line_with(path, '#ifndef')}: the guard is {guard}" for path, guard in guards.items()
         if f"#ifndef {guard}\n#define {guard}\n" not in path.read_text()),
    )  # fmt: skip


def circle_in(graph: dict[str, set[str]]) -> list[str]:
    """Nodes of a circle, the first one again at its end; nothing where there is none."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as found:
        return list(found.args[1])
    return []


def included_files(csrc: Path) -> dict[str, set[str]]:
    """What each file includes; a header and its source are one file, "loader/ring"."""
    graph: dict[str, set[str]] = {}
    for path in sorted(csrc.rglob("*.[ch]")):
        user = str(path.relative_to(csrc).with_suffix(""))
        used = includes(path)
        graph.setdefault(user, set()).update({name.rsplit(".", 1)[0] for name in used} - {user})
    return graph


def folders_of(files: dict[str, set[str]]) -> dict[str, set[str]]:
    graph: dict[str, set[str]] = {}
    for user, used in files.items():
        folder = folder_of(user)
        graph.setdefault(folder, set()).update({folder_of(name) for name in used} - {folder})
    return graph


def test_no_circle_of_c_files_or_folders():
    files = included_files(ROOT / "csrc")
    assert len(files) > 150
    keep_no_circle("files of C", circle_in(files))
    keep_no_circle("folders of C", circle_in(folders_of(files)))


@pytest.mark.parametrize("planted, circle, circle_of_folders", [
    ({"files/a.h": "files/b.h", "files/b.c": "files/a.h"}, {"files/a", "files/b"}, set()),
    ({"files/a.c": "files/b.h", "files/b.c": "files/c.h", "files/c.h": "files/a.h"},
     {"files/a", "files/b", "files/c"}, set()),
    ({"files/a.c": "index/b.h", "index/c.h": "files/d.h"}, set(), {"files", "index"}),
    ({"loader/ring/a.c": "loader/watch/b.h", "loader/watch/c.c": "loader/ring/d.h"}, set(),
     {"loader/ring", "loader/watch"}),
])  # fmt: skip
def test_a_planted_circle_is_found(tmp_path, planted, circle, circle_of_folders):
    for name, included in planted.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f'#include "{name[:-1]}h"\n#include "{included}"\n')
    files = included_files(tmp_path)
    assert set(circle_in(files)) == circle
    assert set(circle_in(folders_of(files))) == circle_of_folders


def symbols(files: list[Path]) -> list[tuple[Path, str, bool]]:
    """File, name and whether it is defined there: symbols of this library in what `make` made."""
    objects = {}
    for path in files:
        compiled = (ROOT / "build/release" / path.relative_to(ROOT)).with_suffix(".o")
        objects[str(compiled)] = path
    out = subprocess.run(
        ["nm", "-P", "-A", *objects], capture_output=True, text=True, check=True
    ).stdout
    lines = (re.fullmatch(r"(.*): (pfd_\S+) (\w).*", line) for line in out.splitlines())
    return [(objects[found[1]], found[2], found[3] != "U") for found in lines if found]


def test_c_calls_point_down():
    """What is declared in a public header may still be defined in too high a folder."""
    if shutil.which("nm") is None:
        pytest.skip("nm (binutils) is not here")
    if not (ROOT / "build/release").is_dir():
        pytest.skip("only `make` compiles the objects that are looked into")
    found = symbols([path for path in C_FILES if path.suffix == ".c"])
    home = {name: path for path, name, is_defined in found if is_defined}
    used = [(path, name) for path, name, is_defined in found if not is_defined]
    assert len(used) > 500
    above = []
    for path, name in used:
        if path.name not in LISTS:
            csrc = ROOT / "csrc"
            user, owner = (folder_of(one.relative_to(csrc)) for one in (path, home[name]))
            if not may_use(user, owner):
                above.append(f"{line_with(path, name)}: {user}/ may not use {name}() of {owner}/")
    keep(DOWN, above)
    calls: dict[str, set[str]] = {}
    for path, name in used:
        if home[name] != path:
            calls.setdefault(str(path), set()).add(str(home[name]))
    keep_no_circle("files of C, by the functions that they call,", circle_in(calls))


PRIVATE_FAILURE = re.compile(r"\bpfd_fail\w*\(")


def fails_by_itself(text: str) -> list[str]:
    return PRIVATE_FAILURE.findall(text)


def test_ops_and_formats_fail_as_plugins_do():
    """By the host's functions: what is here can be copied out of the tree."""
    copied = ("formats", "ops", "images/ops")  # plugins cannot have views
    layers = [path for folder in copied for path in (ROOT / "csrc" / folder).rglob("*.[ch]")]
    assert len(layers) > 60
    found = {path: fails_by_itself(path.read_text()) for path in layers}
    keep(
        "an op or format fails by the functions of the host, as a plugin does",
        (f"{line_with(path, calls[0])}: {calls[0]}" for path, calls in found.items() if calls),
    )
    assert fails_by_itself('if (!copy) return pfd_fail_memory(err, 8, "a path");')


def test_one_file_names_the_ops():
    listed = re.findall(r"\bX\((\w+)\)", code(ROOT / "csrc/registry/builtin_ops.c"))
    assert sorted(listed) == sorted(OPS)
    naming = collections.defaultdict(set)  # a word that may name an op: the files that have it
    for path in C_FILES:
        for word in re.findall(r'\bpfd_op_\w+|"\w+"', code(path)):
            naming[word].add(path)
    for op, home in OPS.items():
        assert home.stem == op, f"{home} declares {op}"
        (name,) = re.findall(r'\.name = "(\w+)"', code(home))
        found = naming[f"pfd_op_{op}"] | naming[f'"{name}"']
        assert home in found
        own = {home, home.with_name(f"{home.parent.name}_format.c")}
        keep(
            "an op is named in its file, in its format's and in the list of ops, nowhere else",
            (f"{line_with(path, op)}: names {op}" for path in found - own),
        )


def listed_formats() -> list[str]:
    return re.findall(r"\bX\((\w+)\)", code(ROOT / "csrc/registry/builtin_formats.c"))


# Types of a column, with the name of a format.
ENCODINGS = {("formats/mds/mds_files.c", "json"), ("sources/arrow_columns.c", "json")}


def misplaced_format_names(csrc: Path) -> list[str]:
    """Texts that are the name of a format, or of its reader, outside the format's folder."""
    reader = re.compile(r'\.reader = "(\w+)"')
    homes = {name: name for name in FORMATS}
    for name in FORMATS:
        (op,) = reader.findall((csrc / f"formats/{name}/{name}_format.c").read_text())
        homes[op] = name
    found = []
    for path in sorted(csrc.rglob("*.[ch]")):
        home = folder_of(path.relative_to(csrc)).removeprefix("formats/")
        whole = re.sub(r'"\s*"', "", code(path))  # a text in several pieces
        for name in re.findall(r'"(\w+)"', whole):
            here = path.relative_to(csrc).as_posix()
            if homes.get(name, home) != home and (here, name) not in ENCODINGS:
                found.append(f"{here} names {name}")
    return found


def test_a_format_is_named_in_its_folder_and_in_the_lists():
    assert len(FORMATS) >= 14 and sorted(listed_formats()) == sorted(FORMATS)
    for name in FORMATS:
        own = code(ROOT / f"csrc/formats/{name}/{name}_format.c")
        assert f"const pfd_format pfd_format_{name} = " in own and f'.name = "{name}"' in own
    keep(
        "a format's name stands in its folder and in the list of formats, nowhere else",
        misplaced_format_names(ROOT / "csrc"),
    )


def test_a_format_that_is_named_elsewhere_is_found(tmp_path):
    shutil.copytree(ROOT / "csrc", tmp_path / "csrc")
    for name, text in (("registry/host.c", '"csv"'), ("loader/plan/plan.c", '"TarReader"')):
        with (tmp_path / "csrc" / name).open("a") as file:
            file.write(f"static const char *const planted = {text};\n")
    assert misplaced_format_names(tmp_path / "csrc") == [
        "loader/plan/plan.c names TarReader",
        "registry/host.c names csv",
    ]


def test_signatures_of_others_are_not_those_of_formats_here():
    table = (ROOT / "csrc/parse/first_bytes.c").read_text()
    table = table.split("containers[] = {")[1].split("};")[0]
    others = [name.casefold().strip() for name in re.findall(r'\{"([^"(]+)', table)]
    assert len(others) > 8
    for name in FORMATS:
        own = code(ROOT / f"csrc/formats/{name}/{name}_format.c")
        (title,) = re.findall(r'\.title = "([^"]+)"', own)
        assert not {name, title.casefold()} & set(others)
