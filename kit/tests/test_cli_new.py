"""The plugins that `pyflowdata new` writes: they work as they are."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from support.command import here  # noqa: F401  (a fixture)
from support.installing import environment
from support.page_runner import PageProcess
from support.paths import ROOT

import pyflowdata as flow
from pyflowdata_kit.commands.new import search_path, spellings
from pyflowdata.cli.usage import UsageError

KINDS = sorted(path.name for path in (ROOT / "kit/pyflowdata_kit/templates").iterdir())
needs_tools = pytest.mark.skipif(
    shutil.which("make") is None or shutil.which("cc") is None, reason="make or cc is not here"
)


def run(*command, cwd=None, **variables):
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**environment(), "PYTHONPATH": str(ROOT), **variables},
        capture_output=True,
        text=True,
    )


def pyflowdata(*arguments, **options):
    """The command in a separate process."""
    return run(sys.executable, "-m", "pyflowdata", *arguments, **options)


def write(command, kind, name, folder):
    done = command("new", kind, name, "--dir", folder)
    assert done.returncode == 0, done.stderr
    made = folder / spellings(name)[0]
    assert str(made) in done.stdout
    return made


@pytest.fixture(scope="module", params=KINDS)
def built(request, tmp_path_factory):
    """A plugin that `new` wrote, and `make` built."""
    folder = tmp_path_factory.mktemp("new") / "it's here"
    made = write(pyflowdata, request.param, f"My{request.param.title()}", folder)
    done = run("make", f"PYTHON={sys.executable}", cwd=made)
    assert (done.returncode, done.stderr) == (0, "")
    return made


# ---- What `new` writes --------------------------------------------------------------------------


@needs_tools
def test_its_tests_pass(built):
    """Without PYTHONPATH: make finds a package that is not installed."""
    assert {f"{built.name}.so", "sample"} <= {path.name for path in built.iterdir()}
    bare = {"PYTHONPATH": "", "PATH": f"{os.path.dirname(sys.executable)}:/usr/bin:/bin"}
    tests = run("make", "-s", "-B", f"PYTHON={sys.executable}", "test", cwd=built, **bare)
    assert tests.returncode == 0, tests.stdout + tests.stderr
    assert int(re.search(r"(\d+) passed", tests.stdout)[1]) >= 4
    assert "skipped" not in tests.stdout
    again = run("make", f"PYTHON={sys.executable}", cwd=built)
    assert "Nothing to be done" in again.stdout


@needs_tools
def test_its_readme_is_true(built):
    camel = spellings(built.name)[1]
    readme = (built / "README.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```$", readme, re.S | re.M)
    done = run(sys.executable, "-c", code, cwd=built)
    assert done.returncode == 0 and done.stdout, done.stderr
    named = set(re.findall(r"^\| `([^`]+)`", readme, re.M))
    assert named == {path.name for path in built.iterdir() if path.suffix in (".c", ".py")}
    (command,) = re.findall(r"`python -m (pyflowdata ops .*?)`", readme)
    listed = run(sys.executable, "-m", *command.split(), cwd=built)
    assert listed.returncode == 0 and f"{camel}(" in listed.stdout
    loaded = run(sys.executable, "-c", f"import pyflowdata; pyflowdata.{camel}", cwd=built,
                 PYFLOWDATA_PLUGINS=f"{built.name}.so")  # fmt: skip
    assert loaded.returncode == 0, loaded.stderr


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("kind", KINDS)
def test_its_c_file_is_clean(kind, compiler, here, tmp_path):  # noqa: F811
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not here")
    source = write(here, kind, "clean", tmp_path) / "clean.c"
    checked = run(
        compiler, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion",
        "-Werror", "-fsyntax-only", "-I", flow.include_dir(), source,
    )  # fmt: skip
    assert checked.returncode == 0, checked.stderr
    text = source.read_text()
    assert max(map(len, text.splitlines())) <= 100 and "\t" not in text


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_filled_in_everywhere(kind, here, tmp_path):  # noqa: F811
    folder = write(here, kind, "NorthSeaBuoys", tmp_path)
    for path in folder.iterdir():
        assert "NAME" not in path.name
        assert not re.search(r"@\w+@", path.read_text()), path
    assert '.name = "NorthSeaBuoys"' in (folder / "north_sea_buoys.c").read_text()
    assert len((folder / "Makefile").read_text().splitlines()) <= 21


@needs_tools
def test_a_python_without_the_package_is_named(here, tmp_path):  # noqa: F811
    folder = write(here, "reader", "lonely", tmp_path)
    made = run("make", "PYTHON=false", cwd=folder)
    assert made.returncode == 2 and "a Python that has pyflowdata" in made.stderr


def test_only_a_source_tree_is_named_in_the_makefile(tmp_path):
    package = tmp_path / "cash $ #1" / "pyflowdata"
    package.mkdir(parents=True)
    assert search_path(package) == ""
    (package.parent / "pyproject.toml").write_text("")
    first = search_path(package).splitlines()[0]
    assert first == rf"PYFLOWDATA_PATH ?= {tmp_path}/cash $$ \#1"


def test_what_to_do_next(here, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable))
    assert here("new", "reader", "one", "--dir", tmp_path).stdout.endswith("/one && make test\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    said = here("new", "reader", "two", "--dir", tmp_path).stdout
    assert said.endswith(f"/two && make test PYTHON={sys.executable}\n")


# ---- Its format ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def command():
    """command(folder, "head", ...): its status and what it prints."""
    process = PageProcess()
    yield process.command
    process.close()


@pytest.fixture(scope="module")
def crates(command, tmp_path_factory):
    """What `pyflowdata new reader` writes, as it is: the folder and its sample files."""
    folder = tmp_path_factory.mktemp("plugin")
    assert command(folder, "new", "reader", "crates")[0] == 0
    done = run("make", f"PYTHON={sys.executable}", cwd=folder / "crates")
    assert done.returncode == 0, done.stdout + done.stderr
    files = sorted((folder / "crates" / "sample").iterdir())
    for number, file in enumerate(files):  # nothing but the content says what they are
        shutil.copy(file, folder / f"file-{number}")
    return folder


@needs_tools
def test_commands_know_a_plugins_format(crates, command):
    def ask(*arguments):
        return command(crates, *arguments, "--plugin", "crates/crates.so")

    status, said = ask("head", "file-0")
    assert status == 0 and said.startswith("file-0: Crates records, "), said
    assert "values:float32[4]" in said and "label:int32" in said
    records = int(said.split(", ")[1].split()[0])
    assert ask("verify", "file-0") == (
        0, f"file-0: Crates records: {records} records whole, no damage\n"
    )  # fmt: skip
    status, said = ask("stats", "--json", "file-0")
    assert json.loads(said)["records"] == records
    assert set(json.loads(said)["fields"]) == {"values", "label"}
    convert_in_two_processes(ask, records, "option.tfrecord")
    assert ask("convert", "file-0", "a", "--to", "crates")[0] == 2  # there is no writer


@needs_tools
def test_commands_know_the_format_of_a_plugin_that_the_environment_names(crates):
    def ask(*arguments):
        done = pyflowdata(*arguments, cwd=crates, PYFLOWDATA_PLUGINS="crates/crates.so")
        return done.returncode, done.stdout + done.stderr

    status, said = ask("head", "file-0")
    assert status == 0 and said.startswith("file-0: Crates records, "), said
    convert_in_two_processes(ask, int(said.split(", ")[1].split()[0]), "env.tfrecord")


def convert_in_two_processes(ask, records, target):
    status, said = ask("convert", "file-0", target, "--shards", 2, "--jobs", 2, "--quiet")
    assert status == 0 and f"Crates records to TFRecord: {records} records" in said, said


@needs_tools
def test_damage_of_a_plugins_file_is_found(crates, command):
    data = bytearray((crates / "file-0").read_bytes())
    data[-1] ^= 1
    (crates / "damaged").write_bytes(data)
    status, said = command(crates, "verify", "damaged", "--plugin", "crates/crates.so")
    assert status == 1 and "checksum" in said and "1 damaged place" in said


@needs_tools
def test_python_knows_a_plugins_format(crates):
    code = (
        "import pyflowdata as flow\n"
        "from pyflowdata.formats import FORMATS, detect, open_source\n"
        "assert 'crates' not in FORMATS\n"
        "flow.load_library('crates/crates.so')\n"
        "assert FORMATS['crates'].origin.endswith('crates.so') and 'crates' in list(FORMATS)\n"
        "assert detect('file-0').format == 'crates'\n"
        "source = open_source(['file-0', 'file-1'])\n"
        "print([field.type for field in source.fields])\n"
        "print(sum(len(batch['label']) for batch in source.batches(batch_size=3)) > 0)\n"
    )
    done = run(sys.executable, "-c", code, cwd=crates)
    assert done.stdout == "['float32[4]', 'int32']\nTrue\n", done.stdout + done.stderr


# ---- What `new` refuses -------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [["new"], ["new", "boat"]])
def test_wrong_usage(arguments, here):  # noqa: F811
    done = here(*arguments)
    assert done.returncode == 2 and done.stderr.startswith("usage: pyflowdata")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["new", "check", "bench"])
def test_each_command_of_the_kit_has_help(command, here):  # noqa: F811
    done = here(command, "--help")
    assert done.returncode == 0 and done.stdout.startswith(f"usage: pyflowdata {command}")
    assert "--debug" in done.stdout


@pytest.mark.parametrize(
    "name, snake, camel",
    [
        ("my_reader", "my_reader", "MyReader"),
        ("MyReader", "my_reader", "MyReader"),
        ("HTTPLogs", "http_logs", "HttpLogs"),
        ("shapes", "shapes", "Shapes"),
        ("v2_points3d", "v2_points3d", "V2Points3d"),
        ("int", "int", "Int"),
    ],
)
def test_spellings(name, snake, camel):
    assert spellings(name) == (snake, camel)


@pytest.mark.parametrize(
    "name",
    ["", "my-reader", "2nd", "_x", "x_", "a__b", "a b", "../up", "/abs", "x/y", "ä", "x\n", "a.c",
     "None", "true", "DataLoader", "blob", "y" * 41, "$(id)", "`id`", "%s"],
)  # fmt: skip
def test_names_that_cannot_be(name, here, tmp_path):  # noqa: F811
    with pytest.raises(UsageError):
        spellings(name)
    done = here("new", "reader", f"--dir={tmp_path}", "--", name)
    assert done.returncode == 2 and "pyflowdata: error: " in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_names_of_ops_and_folders_that_are_there(here, tmp_path):  # noqa: F811
    done = here("new", "reader", "mini_reader", "--dir", tmp_path)
    assert done.returncode == 2 and "MiniReader" in done.stderr
    (tmp_path / "taken").mkdir()
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("taken", "dangling"):
        done = here("new", "reader", name, "--dir", tmp_path)
        assert done.returncode == 2 and f"{name} is there already" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"taken", "dangling"}
    assert list((tmp_path / "taken").iterdir()) == []
    done = here("new", "reader", "int", "--package", "--dir", tmp_path)
    assert done.returncode == 2 and "`import int` means something else" in done.stderr
    done = here("new", "reader", "mine", "--dir", tmp_path / "no" / "deeper")
    assert done.returncode == 2 and f"there is no folder {tmp_path / 'no'}" in done.stderr


def test_a_folder_that_cannot_be_made(here, tmp_path):  # noqa: F811
    (tmp_path / "file").write_text("")
    done = here("new", "reader", "some", "--dir", tmp_path / "file")
    assert done.returncode == 1
    assert done.stderr == f"pyflowdata: error: {tmp_path / 'file'}: File exists\n"
