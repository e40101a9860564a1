"""pyflowdata.compile(): from C source to ops, by way of a cache."""

import os
import shutil
import stat
import subprocess
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from support import programs
from support.plugin_sources import COUNT, SCALE, renamed

import pyflowdata as flow
from pyflowdata.plugins.compiler import source_of

if shutil.which("cc") is None:
    pytest.skip("cc is not here", allow_module_level=True)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("CC", "CXX"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "cache" / "pyflowdata" / "plugins"


def named(name, source=SCALE, old="Scale"):
    return renamed(source, old, name)


def counted(monkeypatch):
    """The commands that the compiler is run with from here on."""
    ran, run = [], subprocess.run

    def record(command, *args, **kwargs):
        ran.append([str(part) for part in command])
        return run(command, *args, **kwargs)

    monkeypatch.setattr(subprocess, "run", record)
    return ran


def links(ran):
    return sum("-shared" in command for command in ran)


def values(*blobs):
    with flow.DataLoader(*blobs) as loader:
        return np.concatenate(list(loader)).tolist()


def test_a_state_compares_what_an_op_in_c_declares(cache):
    """A raised default is another op; new code and a new version are not noticed, as the page says.
    """
    source, x = named("StateScale"), flow.from_arrays({"x": np.arange(8.0)}).batch(2)["x"]

    def loader(*change):
        return flow.DataLoader(flow.compile(source.replace(*change)).StateScale(x))

    with loader("", "", 0) as before:
        state = before.state_dict()
    with loader("factor * in", "factor * 2 * in") as changed:
        changed.load_state_dict(state)
    with loader('FLOAT64, "2"', 'FLOAT64, "3"') as raised:
        with pytest.raises(flow.InvalidArgumentError, match="StateScale_0: its attrs"):
            raised.load_state_dict(state)


def test_source_text(cache):
    plugin = flow.compile(named("CompiledScale"))
    assert plugin.CompiledScale is flow.CompiledScale is flow.ops.CompiledScale
    assert plugin.name == "scaling"
    numbers = flow.compile(named("CompiledCount", COUNT, "Count")).CompiledCount(
        size=4, batch_size=4
    )
    assert values(plugin.CompiledScale(flow.Affine(numbers, dtype="float64"))) == [0, 2, 4, 6]
    library = Path(plugin.path)
    assert library.parent.parent == cache and library.name == "plugin.so"
    assert (library.parent / "plugin.c").read_text() == named("CompiledScale")
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert [path.name for path in cache.iterdir() if path.name.startswith("new-")] == []


@pytest.mark.parametrize("kind", [str, Path])
def test_a_file_with_a_header_beside_it(kind, tmp_path, monkeypatch):
    header = tmp_path / "factor.h"
    header.write_text("#define FACTOR 3\n")
    path = tmp_path / "my_scale.c"
    name = f"FileScale{kind.__name__.title().replace('Posix', '')}"
    source = named(name).replace("attr->factor *", "FACTOR *")
    source = source.replace("    const scale *attr = (const scale *)args->attrs;\n", "")
    path.write_text('#include "factor.h"\n' + source)
    counting = flow.compile(named("FileCount", COUNT, "Count"))
    numbers = flow.Affine(counting.FileCount(size=2), dtype="float64")
    plugin = flow.compile(kind(path))
    assert Path(plugin.path).name == "my_scale.so"
    assert source_of(plugin.path) == (str(path), ())
    assert values(getattr(plugin, name)(numbers)) == [0, 3]
    ran = counted(monkeypatch)
    flow.compile(kind(path))
    assert links(ran) == 0
    header.write_text("#define FACTOR 5\n")  # is part of what the cache is asked for
    again = flow.compile(kind(path))
    assert links(ran) == 1
    assert values(getattr(again, name)(numbers)) == [0, 5]


def test_the_cache_is_asked_for_all_that_matters(monkeypatch):
    source = named("CachedScale")
    ran = counted(monkeypatch)
    first = flow.compile(source)
    assert links(ran) == 1
    assert flow.compile(source).CachedScale is first.CachedScale
    assert links(ran) == 1
    paths = {first.path}
    paths.add(flow.compile(source, flags="-DOTHER").path)
    paths.add(flow.compile(source, flags=["-DOTHER=2"]).path)
    paths.add(flow.compile(source + "\n/* more */\n#define MORE\n").path)
    if shutil.which("clang"):
        monkeypatch.setenv("CC", "clang")
        paths.add(flow.compile(source).path)
    monkeypatch.setenv("CC", "cc -O0")
    paths.add(flow.compile(source).path)
    assert len(paths) == links(ran)
    monkeypatch.delenv("CC")
    assert flow.compile(source).path == first.path
    assert len(paths) == links(ran)


def missing(library):
    library.unlink()


def emptied(library):
    library.write_bytes(b"")


def truncated(library):
    library.write_bytes(library.read_bytes()[:5000])


def without_digest(library):
    library.with_suffix(".sha256").unlink()


def flipped(library):
    content = bytearray(library.read_bytes())
    content[len(content) // 2] ^= 1
    library.write_bytes(content)


DAMAGES = [missing, emptied, truncated, without_digest, flipped]


def test_what_is_damaged_in_the_cache_is_built_again(cache, monkeypatch):
    """The first ones are made in another process: a loaded library must not be written to."""
    sources = [named(f"Healed{i}") for i in range(len(DAMAGES))]
    script = "import sys, pyflowdata\nfor one in sys.argv[1:]: print(pyflowdata.compile(one).path)"
    made = programs.run(script, *sources, check=True).stdout.split()
    for damage, source, path in zip(DAMAGES, sources, map(Path, made), strict=True):
        before = path.read_bytes()
        damage(path)
        ran = counted(monkeypatch)
        assert flow.compile(source).path == str(path), damage
        assert links(ran) == 1 and path.read_bytes() == before, damage
        flow.compile(source)
        assert links(ran) == 1, damage
    assert {found.name for found in cache.iterdir()} == {Path(path).parent.name for path in made}


def test_a_file_in_the_place_of_a_cached_folder(cache):
    source = named("BlockedScale")
    home = Path(flow.compile(source).path).parent
    shutil.rmtree(home)
    home.write_text("in the way")
    with pytest.raises(flow.FileError, match="cache of compiled plugins cannot be written"):
        flow.compile(source)


@pytest.mark.parametrize(
    "flags",
    [["-Iheaders"], ["-I", "headers"], "-isystem headers", ["-include", "headers/factor.h"]],
)
def test_relative_paths_in_flags(flags, tmp_path, monkeypatch):
    """Relative paths start at the caller's folder, for text and for files."""
    name = "Relative" + "".join(filter(str.isalpha, "".join(flags)))
    include = "" if "factor.h" in str(flags) else '#include "factor.h"\n'
    source = include + named(name).replace('"2", -100', "FACTOR, -100")
    path = tmp_path / "source" / "my_scale.c"
    path.parent.mkdir()
    path.write_text(source)
    for factor in ("3", "5"):
        here = tmp_path / f"here{factor}"
        (here / "headers").mkdir(parents=True)
        (here / "headers" / "factor.h").write_text(f'#define FACTOR "{factor}"\n')
        monkeypatch.chdir(here)
        for given in (source, path):
            flow.compile(given, flags=flags)
            assert flow.nodes.find_op(name).attr("factor").default == float(factor)


def test_the_cache_may_be_removed(cache, monkeypatch):
    first = flow.compile(named("RemovedScale"))
    shutil.rmtree(cache)
    ran = counted(monkeypatch)
    again = flow.compile(named("RemovedScale"))
    assert links(ran) == 1 and again.path == first.path
    assert again.RemovedScale(flow.Affine(flow.MiniReader("data"))).dtype == np.float64


def test_a_changed_source_takes_the_place(tmp_path):
    """As in a notebook, where a cell is run again."""
    counting = flow.compile(named("CellCount", COUNT, "Count"))
    numbers = flow.Affine(counting.CellCount(size=3, batch_size=3), dtype="float64")
    source = named("CellScale")
    first = flow.compile(source)
    old = first.CellScale(numbers)
    changed = source.replace("attr->factor * in[i]", "attr->factor + in[i]")
    second = flow.compile(changed)
    new = flow.CellScale(numbers)
    assert flow.CellScale is second.CellScale is not first.CellScale
    assert (values(old), values(new)) == ([0, 2, 4], [2, 3, 4])
    built = flow.user_op_builder().Op("cell_scale").Input("in", numbers).Output("out").Build()
    assert values(built.SoleOutputBlob()) == [2, 3, 4]
    assert flow.compile(source).CellScale is flow.CellScale  # and back
    assert values(flow.CellScale(numbers)) == [0, 2, 4]
    assert flow.ops.__all__.count("CellScale") == 1

    # Another attr: signature and checks are those of the new source.
    other = changed.replace("PFD_ATTR_ROW(scale, factor,", "PFD_ATTR_ROW(scale, addend,")
    other = other.replace("double factor;", "double addend;").replace("->factor", "->addend")
    flow.compile(other)
    assert values(flow.CellScale(numbers, addend=1)) == [1, 2, 3]
    with pytest.raises(flow.InvalidArgumentError, match="unknown attr 'factor'"):
        flow.CellScale(numbers, factor=1)

    # A faulty one leaves the former one in place, and so does one of a name that is taken.
    with pytest.raises(flow.InternalError, match="infer is NULL"):
        faulty = other.replace(".infer = scale_infer", ".infer = NULL")
        flow.compile(faulty, flags="-Wno-unused-function")
    assert values(flow.CellScale(numbers, addend=1)) == [1, 2, 3]
    with pytest.raises(flow.InvalidArgumentError, match="is that of op 'Affine' .built in"):
        flow.compile(named("Affine"))


def test_a_failure_of_the_second_op_gives_the_first_one_back():
    source = named("TogetherScale")
    first = flow.compile(source)
    both = source.replace("PFD_PLUGIN(", """static const pfd_op pfd_op_second = {
    PFD_OP_SIZES, .name = "Second", .doc = "No functions.",
};
PFD_PLUGIN(""").replace("&pfd_op_scale)", "&pfd_op_scale, &pfd_op_second)")  # fmt: skip
    with pytest.raises(flow.InternalError, match="'Second': infer is NULL"):
        flow.compile(both, flags="-Wno-missing-field-initializers")
    assert flow.compile(source).TogetherScale is first.TogetherScale is flow.TogetherScale
    assert not hasattr(flow.ops, "Second")


# ---- Failures -----------------------------------------------------------------------------------


def test_compiler_errors_name_file_and_line(tmp_path):
    source = named("BrokenScale").replace("return PFD_OK;", "return PFD_OKAY;", 1)
    line = source[: source.index("PFD_OKAY")].count("\n") + 1
    with pytest.raises(flow.CompileError) as failure:
        flow.compile(source)
    assert (failure.value.file, failure.value.line) == ("plugin.c", line)
    text = str(failure.value)
    assert text.startswith(f"plugin.c:{line}: the source does not compile:\nplugin.c:")
    assert "PFD_OKAY" in text and "return PFD_OKAY;" in text
    assert "-std=c11" in text.splitlines()[-1]

    path = tmp_path / "broken.c"
    path.write_text(source)
    with pytest.raises(flow.InvalidArgumentError) as failure:
        flow.compile(path)
    assert (failure.value.file, failure.value.line) == (str(path), line)


def test_a_missing_header():
    with pytest.raises(flow.CompileError, match=r"plugin\.c:1: .*") as failure:
        flow.compile('#include "no_such.h"\n' + named("HeaderlessScale"))
    assert "no_such.h" in str(failure.value)


def test_what_the_linker_misses_is_said_at_once():
    source = named("LinkedScale").replace("(void)err;", "(void)err; no_such_function();")
    source = source.replace("typedef struct scale", "void no_such_function(void);\ntypedef struct "
                            "scale", 1)  # fmt: skip
    with pytest.raises(flow.CompileError, match="no_such_function"):
        flow.compile(source)


def test_a_failure_leaves_nothing_behind(cache):
    for _ in range(2):
        with pytest.raises(flow.CompileError):
            flow.compile(named("NothingScale") + "\n#error no\n")
    assert list(cache.iterdir()) == []


def test_warnings_are_shown_once():
    source = named("WarnedScale").replace("(void)err;", "(void)err; int unused;")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        flow.compile(source)
        flow.compile(source)
    assert len(caught) == 1
    assert "unused" in str(caught[0].message) and "plugin.c:" in str(caught[0].message)
    assert caught[0].filename == __file__


def test_the_usual_sources_give_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert callable(flow.compile(named("QuietScale")).QuietScale)
        assert callable(flow.compile(named("QuietCount", COUNT, "Count")).QuietCount)


def test_source_without_an_entry():
    with pytest.raises(flow.InvalidArgumentError, match=r"not a plugin.*PFD_PLUGIN\("):
        flow.compile("int x;\nint y;\n")


@pytest.mark.parametrize("value", [None, 3, b"int x;\n", ["a.c"]])
def test_what_is_no_source(value):
    with pytest.raises(flow.InvalidArgumentError, match="must be a path, or source text"):
        flow.compile(value)


def test_wrong_arguments(tmp_path, monkeypatch):
    with pytest.raises(flow.FileError, match="no such source"):
        flow.compile(tmp_path / "none.c")
    hints = {"x.so": "load_library", "x.py": r"\.c, \.cc, \.cpp, \.cxx", "": "a source ends in"}
    for name, hint in hints.items():
        with pytest.raises(flow.InvalidArgumentError, match=hint):
            flow.compile(name)
    with pytest.raises(flow.InvalidArgumentError, match="language = 'rust'"):
        flow.compile("a\nb", language="rust")
    with pytest.raises(flow.InvalidArgumentError, match="'.*/int x;'.*text needs several lines"):
        flow.compile("int x;")
    for flags in ([1], None, 3, ["-DA\0"]):
        with pytest.raises(flow.InvalidArgumentError, match="must be a str or a list of str"):
            flow.compile("a\nb", flags=flags)
    with pytest.raises(flow.InvalidArgumentError, match="flags = .*No closing quotation"):
        flow.compile("a\nb", flags="-DA='x")
    monkeypatch.setenv("CC", "cc '-O0")
    with pytest.raises(flow.InvalidArgumentError, match="CC = .*No closing quotation"):
        flow.compile("a\nb")


@pytest.mark.parametrize("variable, language", [("CC", "c"), ("CXX", "c++")])
def test_no_compiler(variable, language, monkeypatch, tmp_path):
    monkeypatch.setenv(variable, "no-such-compiler -O2")
    with pytest.raises(flow.UnsupportedError, match=f"{variable}=no-such-compiler is not on the"):
        flow.compile("a\nb", language=language)
    monkeypatch.delenv(variable)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(flow.UnsupportedError, match=f"install gcc.*{variable}"):
        flow.compile("a\nb", language=language)


def test_a_cache_that_cannot_be_made(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(flow.FileError, match="Not a directory; set XDG_CACHE_HOME"):
        flow.compile(named("CachelessScale"))


def test_a_cache_that_others_can_write_to(cache):
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    said = "users other than this one can write into it.*set XDG_CACHE_HOME"
    with pytest.raises(flow.FileError, match=said):
        flow.compile(named("SharedScale"))
    cache.chmod(0o755)
    assert flow.compile(named("SharedScale")).SharedScale


def test_each_folder_above_the_cache_is_this_users_alone(tmp_path, monkeypatch):
    source = named("ParentScale")
    above = tmp_path / "above"
    monkeypatch.setenv("XDG_CACHE_HOME", str(above / "mine"))
    (above / "mine").mkdir(parents=True)
    above.chmod(0o777)
    with pytest.raises(flow.FileError, match="another user could change them") as caught:
        flow.compile(source)
    assert caught.value.file == str(above)
    above.chmod(0o1777)  # as /tmp: nobody renames what is this user's
    assert flow.compile(source).ParentScale
    link = tmp_path / "link"
    link.symlink_to(above / "mine")
    monkeypatch.setenv("XDG_CACHE_HOME", str(link))
    assert Path(flow.compile(source).path).is_relative_to(above)  # a link may be changed later


def test_a_library_that_others_can_write_to_is_built_again(cache, monkeypatch):
    source = named("LooseScale")
    before = os.umask(0o002)
    try:
        library = Path(flow.compile(source).path)
    finally:
        os.umask(before)
    ran = counted(monkeypatch)
    assert stat.S_IMODE(library.stat().st_mode) & 0o022 == 0
    flow.compile(source)
    assert links(ran) == 0
    library.chmod(0o777)
    flow.compile(source)
    assert links(ran) == 1 and stat.S_IMODE(library.stat().st_mode) & 0o022 == 0
    elsewhere = cache.parent / "elsewhere.so"
    library.rename(elsewhere)
    library.symlink_to(elsewhere)
    flow.compile(source)
    assert links(ran) == 2 and not library.is_symlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs the root user")
@pytest.mark.parametrize("place", ["", "pyflowdata", "pyflowdata/plugins", "key", "library"])
def test_nothing_of_another_user_is_run(place, tmp_path, monkeypatch):
    """Another user who owns a folder could swap the library between its check and its use."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    source = named(f"Foreign{len(place)}Scale")
    library = Path(flow.compile(source).path)
    places = {"key": library.parent, "library": library}
    theirs = places.get(place, tmp_path / "cache" / place)
    os.chown(theirs, 12345, 12345)
    if place == "library":
        ran = counted(monkeypatch)
        flow.compile(source)
        assert links(ran) == 1 and library.stat().st_uid == 0
        return
    with pytest.raises(flow.FileError, match="belongs to another user") as caught:
        flow.compile(source)
    assert caught.value.file == str(theirs)


def test_the_cache_of_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    library = Path(flow.compile(named("HomeScale")).path)
    assert library.is_relative_to(tmp_path / "home/.cache/pyflowdata/plugins")
    assert not Path("relative").exists()


# ---- C++, threads, processes --------------------------------------------------------------------

SUM = r"""
#include "pyflowdata/op.h"
#include <numeric>
#include <vector>

static const pfd_port inputs[] = {{"in", "Rows of float64."}};
static const pfd_port outputs[] = {{"out", "Their sums."}};

static pfd_status infer(const pfd_infer_args *args, pfd_error *)
{
    args->outputs[0] = pfd_row_type();
    args->outputs[0].dtype = PFD_FLOAT64;
    return PFD_OK;
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *)
{
    int64_t n = args->inputs[0]->row_bytes / 8;
    const double *in = (const double *)args->inputs[0]->data;
    for (int64_t row = 0; row < args->num_rows; row++, in += n)
        ((double *)args->outputs[0]->data)[row] = std::accumulate(in, in + n, 0.0);
    return PFD_OK;
}

static pfd_op make()
{
    pfd_op op = pfd_op();
    op.struct_size = sizeof(pfd_op);
    op.attr_size = sizeof(pfd_attr);
    op.port_size = sizeof(pfd_port);
    op.name = "RowSum";
    op.doc = "Sums.";
    op.inputs = inputs;
    op.num_inputs = 1;
    op.outputs = outputs;
    op.num_outputs = 1;
    op.infer = infer;
    op.compute = compute;
    return op;
}

static const pfd_op op = make();
PFD_PLUGIN("sums", "1.0", &op)
"""


def test_cpp(tmp_path):
    if shutil.which("c++") is None:
        pytest.skip("c++ is not here")
    (tmp_path / "part-0").write_text("2,1\n3,4\n")
    rows = flow.MiniReader(str(tmp_path), batch_size=2)
    assert values(flow.compile(SUM, language="c++").RowSum(rows)) == [3, 7]
    for suffix in (".cc", ".cpp", ".cxx"):
        (tmp_path / f"sum{suffix}").write_text(SUM)
        assert values(flow.compile(tmp_path / f"sum{suffix}").RowSum(rows)) == [3, 7]


def test_libraries_come_behind_the_source():
    source = named("LibraryScale").replace("attr->factor * in[i]", "attr->factor * crc(in[i])")
    source = "#include <math.h>\nstatic double crc(double x) { return cbrt(x); }\n" + source
    assert callable(flow.compile(source, flags=["-lm", "-ldl"]).LibraryScale)


def test_threads_and_processes_at_once(cache):
    source = named("EverywhereScale")
    code = "import sys, pyflowdata as flow; flow.compile(sys.argv[1])"
    processes = [programs.start(code, source) for _ in range(2)]
    functions = []
    threads = [
        threading.Thread(target=lambda: functions.append(flow.compile(source).EverywhereScale))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [process.wait() for process in processes] == [0, 0]
    assert len(functions) == 3 and len(set(functions)) == 1
    assert len(list(cache.iterdir())) == 1


def test_the_builtin_is_left_alone():
    code = "import builtins; from pyflowdata import *; assert compile is builtins.compile"
    programs.run(code, check=True)
