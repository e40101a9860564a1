"""The command line, and the plugins that `pyflowdata new` writes: they work as they are."""

import gzip
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import zlib

import numpy as np
import pytest
from support.command import here  # noqa: F401  (a fixture)
from support.installing import environment
from support.plugin_sources import ROOT, SCALE, build

import pyflowdata as flow
from pyflowdata import cli, native
from pyflowdata.cli.new import search_path, spellings
from pyflowdata.cli.usage import UsageError

KINDS = sorted(path.name for path in (ROOT / "pyflowdata/templates").iterdir())
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
    """The command in a process of its own."""
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
    folder = tmp_path_factory.mktemp("new") / "a folder"
    made = write(pyflowdata, request.param, f"My{request.param.title()}", folder)
    done = run("make", f"PYTHON={sys.executable}", cwd=made)
    assert (done.returncode, done.stderr) == (0, "")
    return made


# ---- What `new` writes --------------------------------------------------------------------------


@needs_tools
def test_make_and_pytest_pass(built):
    assert {f"{built.name}.so", "sample"} <= {path.name for path in built.iterdir()}
    tests = run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=built)
    assert tests.returncode == 0, tests.stdout
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


@needs_tools
def test_make_finds_a_package_that_is_not_installed(tmp_path):
    folder = write(pyflowdata, "reader", "clone", tmp_path / "it's here")
    environment = {"PYTHONPATH": "", "PATH": f"{os.path.dirname(sys.executable)}:/usr/bin:/bin"}
    done = run("make", "-s", f"PYTHON={sys.executable}", "test", cwd=folder, **environment)
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout + done.stderr


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


# ---- What `new` refuses -------------------------------------------------------------------------


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


# ---- The commands -------------------------------------------------------------------------------


def test_every_command_is_a_module_with_help(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    shown = capsys.readouterr().out
    for module, summary in cli.COMMANDS.items():
        command = module.replace("_", "-")
        assert re.search(rf"^    {command}\b", shown, re.M) and summary in " ".join(shown.split())
        with pytest.raises(SystemExit) as ended:
            cli.main([command, "--help"])
        said = capsys.readouterr().out
        assert ended.value.code == 0 and said.startswith(f"usage: pyflowdata {command}")
        assert "--debug" in said


def test_only_the_command_asked_for_is_imported():
    code = "import sys; from pyflowdata import cli; cli.main(['include-dir']); " \
           "assert not {'pyflowdata.cli.new', 'pyflowdata.cli.ops'} & set(sys.modules)"  # fmt: skip
    done = run(sys.executable, "-c", code)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("arguments", [[], ["nope"], ["ops", "--nope"], ["new"], ["new", "boat"]])
def test_wrong_usage(arguments, here):  # noqa: F811
    done = here(*arguments)
    assert done.returncode == 2 and done.stderr.startswith("usage: pyflowdata")
    assert "Traceback" not in done.stderr


def test_version_and_include_dir(here, tmp_path):  # noqa: F811
    first, *others = here("--version").stdout.splitlines()
    assert first == f"pyflowdata {flow.__version__}"
    said = dict(line.split(maxsplit=1) for line in others)
    assert said["numpy"] == np.__version__ and said["Python"].startswith(platform.python_version())
    assert os.path.samefile(said["library"], native.library_path())
    compressed = tmp_path / "text.gz"
    compressed.write_bytes(gzip.compress(b"a\n"))
    if said["zlib"] == "not in this build":
        with pytest.raises(flow.UnsupportedError, match="zlib"):
            next(iter(flow.DataLoader(flow.TextLineReader(str(compressed), batch_size=1))))
    else:
        assert said["zlib"] == zlib.ZLIB_RUNTIME_VERSION  # that of this machine
    assert pyflowdata("include-dir").stdout == flow.include_dir() + "\n"


def test_errors_are_one_line_but_for_debug(here):  # noqa: F811
    done = here("ops", "MiniReeder")
    assert done.returncode == 1
    assert done.stderr.startswith("pyflowdata: error: unknown op 'MiniReeder'; did you mean")
    assert done.stderr.count("\n") == 1
    for arguments in (["--debug", "ops", "MiniReeder"], ["ops", "MiniReeder", "--debug"]):
        with pytest.raises(flow.Error, match="MiniReeder"):
            here(*arguments)
    done = pyflowdata(*arguments)
    assert done.returncode == 1 and "Traceback" in done.stderr


@needs_tools
def test_ops_are_listed_and_described(tmp_path):
    lines = pyflowdata("ops").stdout.splitlines()
    built_in = [op.name for op in flow.nodes.registered_ops() if op.origin == "built in"]
    assert [line.split()[0] for line in lines] == built_in
    library = build(tmp_path, SCALE)
    listed = pyflowdata("ops", "--plugin", library).stdout
    assert re.search(r"^Scale +op +Multiplies\.$", listed, re.M)
    assert listed.endswith(f"\nfrom {library}: Scale\n")
    described = pyflowdata("ops", "scale", "mini_reader", "--plugin", library).stdout
    assert described.startswith("Scale(in_, *, factor=2.0, name=None)\n\nMultiplies.\n")
    assert f"From: {library}" in described and "From: built in" in described
    assert "batch_size=1," in described[described.index("MiniReader(data_dir='', *,") :]
    missing = pyflowdata("ops", "--plugin", tmp_path / "none.so")
    assert missing.returncode == 1 and "none.so: the library to load is missing" in missing.stderr


def test_ops_as_json(here):  # noqa: F811
    ops = json.loads(here("ops", "--json").stdout)
    by_name = {op["name"]: op for op in ops}
    assert by_name["MiniReader"]["kind"] == "reader" and by_name["Affine"]["kind"] == "op"
    (dtype,) = [attr for attr in by_name["Affine"]["attrs"] if attr["name"] == "dtype"]
    assert dtype["choices"] == ["float16", "float32", "float64", "bfloat16"]
    assert dtype["default"] == "float64"
    assert [port["name"] for port in by_name["MiniDecoder"]["outputs"]] == ["x", "y"]


def test_output_that_nobody_reads():
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{sys.executable} -m pyflowdata ops MiniReader | true"],
        env={**environment(), "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
    )  # fmt: skip
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr
