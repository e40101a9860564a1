"""Files that were made to mislead: damage that looks like emptiness, sizes, memory, and names."""

import gzip
import io
import struct
import tarfile
import zlib

import pytest
from support import programs
from support.command import here  # noqa: F401  (a fixture)

COMMANDS = ("head", "stats", "verify", "convert")
ESCAPE = "\x1b[31mred\x07\u202e"
SHOWN = "\\x1b[31mred\\x07\\u202e"


def archive(path, members, folder=""):
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        if folder:
            entry = tarfile.TarInfo(folder)
            entry.type = tarfile.DIRTYPE
            tar.addfile(entry)
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return path


def ask(here, command, path, *options):
    target = [path.with_name("out.tar")] if command == "convert" else []
    status, out, err = here(command, path, *target, *options)
    return status, out + err


# ---- What the reader refuses is not empty --------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_an_archive_whose_first_member_is_damaged_is_not_empty(command, here, tmp_path):
    path = archive(tmp_path / "a.tar", {"d/a.txt": b"lost", "d/b.txt": b"lost"}, "d")
    data = bytearray(path.read_bytes())
    data[532] ^= 0x10
    path.write_bytes(data)
    status, said = ask(here, command, path)
    assert status == 1 and "byte 512" in said and "no damage" not in said, said


@pytest.mark.parametrize("command", COMMANDS)
def test_a_table_whose_header_has_an_open_quote_is_not_empty(command, here, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('key,"name\n' + "".join(f"{i},n{i}\n" for i in range(1000)))
    status, said = ask(here, command, path, *(["--to", "csv"] if command == "convert" else []))
    assert status == 1 and "a.csv:1" in said and "no damage" not in said, said


@pytest.mark.parametrize("command", COMMANDS)
def test_an_archive_of_folders_alone_is_empty(command, here, tmp_path):
    status, said = ask(here, command, archive(tmp_path / "a.tar", {}, "d"))
    assert status == 0 and "0 records" in said


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("name", ["folder{}/LICENSE", "notes{}"])
def test_samples_after_many_other_members_are_found(name, pack, here, tmp_path):
    """300 samples are more than the command reads to find the fields."""
    members = {name.format(i): b"text" for i in range(300)} | {"a.txt": b"1", "b.txt": b"2"}
    path = archive(tmp_path / "a.tar", members)
    path.write_bytes(pack(path.read_bytes()))
    status, said = ask(here, "verify", path)
    assert status == 0 and "2 records whole, no damage" in said


@pytest.mark.parametrize("command", COMMANDS)
def test_damage_after_the_first_sample_has_its_place(command, here, tmp_path):
    path = archive(tmp_path / "a.tar", {"a.txt": b"1", "b.txt": b"2", "c.txt": b"3"})
    data = bytearray(path.read_bytes())
    data[2 * 1024 + 20] ^= 0x10  # a header and a block of content are before it, twice
    path.write_bytes(data)
    status, said = ask(here, command, path)
    assert status == 1 and "a.tar (byte 2048): this is not a header" in said, said


# ---- Sizes and contents -------------------------------------------------------------------------


_EACH = """
import os, sys
from pyflowdata import cli
os.dup2(1, 2)
for command in sys.argv[2:]:
    more = ["b.tar"] if command == "convert" else []
    print("status", cli.main([command, sys.argv[1], *more]), flush=True)
"""


@pytest.mark.parametrize("size", [1 << 50, 1 << 62])
def test_a_member_that_says_it_is_endless(size, tmp_path):
    """Runs in a separate process: the test is that the process ends."""
    entry = tarfile.TarInfo("a.bin")
    entry.size = size
    (tmp_path / "a.tar").write_bytes(entry.tobuf(tarfile.GNU_FORMAT) + b"x" * 8192)
    done = programs.run(_EACH, "a.tar", *COMMANDS, cwd=tmp_path)
    *said, rest = done.stdout.split("status 1\n")
    assert len(said) == len(COMMANDS) and rest == "", done.stdout
    assert all("byte 0" in one and "Traceback" not in one for one in said), said


@pytest.mark.parametrize("shape", ["(2,(", "(2,", "((((", "2", "(1 << 9,)", "'x'", "(-1,)"])
def test_an_array_member_with_a_malformed_header_stays_bytes(shape, here, tmp_path):
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + bytes(8)
    path = archive(tmp_path / "a.tar", {"a.npy": content})
    status, out, err = here("head", path)
    assert (status, err) == (0, "") and "npy:bytes" in out


# ---- Memory -------------------------------------------------------------------------------------

_MEASURE = """\
import re, sys
from pyflowdata import cli
status = cli.main(sys.argv[1:])
own = open("/proc/self/status").read()  # getrusage() begins with the parent's
most = re.search(r"VmHWM:\\s+(\\d+) kB", own)
print(status, int(most[1]) >> 10)
"""


@pytest.fixture(scope="module")
def endless_line(tmp_path_factory):
    """400 MB without an end of a line, of one MB that is compressed once."""
    path = tmp_path_factory.mktemp("endless") / "a.txt.gz"
    packer = zlib.compressobj(wbits=31)
    first, again = (
        packer.compress(b"a" * (1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2)
    )
    path.write_bytes(first + again * 399 + packer.flush())  # the checksum is that of two MB
    return path


@pytest.mark.parametrize("command", ["head", "stats", "verify"])
def test_memory_has_a_bound(command, endless_line):
    done = programs.run(
        _MEASURE, command, "a.txt.gz", "--memory-budget", "64MB", cwd=endless_line.parent
    )
    status, megabytes = map(int, done.stdout.split())
    assert status == 1 and "memory_budget" in done.stderr and "a.txt.gz" in done.stderr
    assert megabytes < 300


def test_smaller_batches_are_tried_before_memory_is_short(here, tmp_path):
    """1,024 records of 100 KB are more than the budget, one is not."""
    path = archive(tmp_path / "a.tar", {f"{i:04}.bin": bytes(100_000) for i in range(200)})
    for command in ("stats", "verify"):
        status, out, err = here(command, path, "--memory-budget", "4MB")
        assert (status, err) == (0, "") and "200 records" in out
    assert here("head", path, "-n", 100, "--memory-budget", "4MB")[0] == 0


@pytest.mark.parametrize("said", ["0", "-1", "1XB", "MB", "lots", "nanGB"])
def test_memory_budgets_that_are_none(said, here, tmp_path):
    (tmp_path / "a.txt").write_text("line\n")
    assert here("head", tmp_path / "a.txt", f"--memory-budget={said}")[0] == 2


# ---- What is printed ----------------------------------------------------------------------------


def assert_printable(said):
    assert all(line.isprintable() for line in said.split("\n")), repr(said)
    assert SHOWN in said


@pytest.mark.parametrize("command", COMMANDS)
def test_names_of_files_have_no_effect_on_a_terminal(command, here, tmp_path):
    path = tmp_path / f"{ESCAPE}.txt"
    path.write_text("line\n")
    target = [tmp_path / f"{ESCAPE}.log"] if command == "convert" else []
    status, out, err = here(command, path, *target)
    assert status == 0 and err == ""
    assert command == "stats" or SHOWN in out  # which names no file
    assert all(line.isprintable() for line in out.split("\n"))
    status, out, err = here(command, tmp_path / f"{ESCAPE}.not-there", *target)
    assert status == 1
    assert_printable(err)


@pytest.mark.parametrize("command", ["head", "stats"])
def test_names_of_columns_and_members_have_no_effect_on_a_terminal(command, here, tmp_path):
    (tmp_path / "a.csv").write_text(f"{ESCAPE},y\n{ESCAPE},2\n")
    assert_printable(here(command, tmp_path / "a.csv")[1])
    path = archive(tmp_path / "a.tar", {f"k.{ESCAPE}": b"1"})
    assert_printable(here(command, path)[1])


def test_what_is_damaged_has_no_effect_on_a_terminal(here, tmp_path):
    (tmp_path / f"{ESCAPE}.csv").write_text('a,b\n1,2\n3,"\n')
    assert_printable(here("verify", tmp_path / f"{ESCAPE}.csv")[1])
    (tmp_path / "a.csv").write_text(f"a,{ESCAPE}\n1,2\n")
    (tmp_path / "b.csv").write_text("a,b\n1,2\n")
    status, _, err = here("head", tmp_path / "b.csv", tmp_path / "a.csv")
    assert status == 1 and all(line.isprintable() for line in err.split("\n"))


def test_tracebacks_have_no_effect_on_a_terminal(tmp_path):
    (tmp_path / ESCAPE).write_bytes(b"\0\1\2\3" * 9)
    done = programs.run(programs.COMMAND, "head", ESCAPE, "--debug", cwd=tmp_path)
    assert done.returncode == 1 and "Traceback" in done.stderr
    assert_printable(done.stderr)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_of_no_known_format_may_be_given_one(command, here, tmp_path):
    (tmp_path / "a").write_bytes(b"\0\1\2\3" * 9)
    status, said = ask(here, command, tmp_path / "a")
    assert status != 0 and "--format" in said.split("error:")[-1], said
    (tmp_path / "a").write_text("a,b\n", "utf-16")
    status, said = ask(here, command, tmp_path / "a")
    assert status != 0 and "UTF-16" in said and "--format" not in said.split("error:")[-1], said


# ---- Files that are replaced --------------------------------------------------------------------

_OVERWRITE = """\
import resource, signal
from pyflowdata import FileError
from pyflowdata.io import TextLineWriter
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    with TextLineWriter("a.txt", overwrite=True) as writer:
        writer.write("x" * 3_000_000)
except FileError as failure:
    print(failure)
"""


def test_a_file_that_could_not_be_replaced_is_still_there(tmp_path):
    (tmp_path / "a.txt").write_text("old\n")
    done = programs.run(_OVERWRITE, cwd=tmp_path)
    assert "the file that was there is as it was" in done.stdout
    assert (tmp_path / "a.txt").read_text() == "old\n"
