"""Installs wheels into bare venvs, uses them there, and measures what a user waits for.

    python tools/wheel/test_wheels.py FOLDER dist/*.whl

Each Python gets a venv with the wheel, that of the kit, NumPy and cffi; there the README's first
script, `selftest`, `verify`, `check` and the first batch run in an empty folder, without a compiler
or any other program, and without a variable of this environment.  The Pythons are those of
$PYTHONS, or else python3.10 to python3.15, also free-threaded ones, where they are found: on PATH
and in ~/.pyenv/versions.  A wheel for aarch64 is installed beside a Python of Debian, which qemu
runs.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
EXPECTED = ("3.10", "3.11", "3.12", "3.13")
CODECS = re.compile(r"lib(zstd|lz4|jpeg|turbojpeg|png16|webp)\.so")  # Python itself may have libz

MEASURE = """
import json, sys, time
start = time.perf_counter()
import numpy
middle = time.perf_counter()
import pyflowdata as flow
end = time.perf_counter()
with flow.DataLoader(flow.TextLineReader(files=["lines.txt"], batch_size=64)) as loader:
    batch = next(iter(loader))
    first = time.perf_counter()
with open("/proc/self/maps") as maps:
    mapped = sorted({line.split()[-1] for line in maps if ".so" in line})
print(json.dumps(dict(numpy=middle - start, both=end - start, first=first - end, mapped=mapped,
                      version=sys.version.split()[0], numpy_version=numpy.__version__)))
"""

WRITE = """
from pyflowdata.io import TFRecordWriter
with TFRecordWriter("good.tfrecord") as writer:
    for i in range(100):
        writer.write({"x": [i / 7, 1.0], "y": i})
data = bytearray(open("good.tfrecord", "rb").read())
data[len(data) // 2] ^= 1
open("bad.tfrecord", "wb").write(data)
"""


def run(command: list[str], *, folder: Path, fails: bool = False) -> str:
    """The output of a program that has nothing of this environment, and finds no other program."""
    done = subprocess.run(
        command, cwd=folder, env={"PATH": str(folder), "HOME": str(folder)}, capture_output=True,
        text=True,
    )  # fmt: skip
    if (done.returncode != 0) != fails:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def first_script() -> tuple[str, str | None]:
    """The README's first script, and what it says that it prints."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```(?:(?:(?!```).)*```text\n(.*?)```)?", text, re.DOTALL)
    assert found, "README.md has no script"
    return found[1], found[2]


def use(python: list[str], folder: Path) -> None:
    """Does with an installed package what a user does first."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    script, output = first_script()
    with_data = folder / "first"
    shutil.copytree(ROOT / "data", with_data / "data")
    (with_data / "first.py").write_text(script, encoding="utf-8")
    printed = run([*python, "first.py"], folder=with_data)
    if output is not None and printed.split() != output.split():
        sys.exit(f"the README's first script printed\n{printed}and not\n{output}")
    empty = folder / "empty"
    empty.mkdir()
    run([*python, "-m", "pyflowdata", "--version"], folder=empty)
    said = run([*python, "-m", "pyflowdata", "selftest"], folder=empty).splitlines()
    skipped = [line for line in said if line.startswith("skipped")]
    if len(skipped) > 1 or any("compiler" not in line for line in skipped):
        sys.exit("\n".join(["selftest skipped more than the compiler", *said]))
    run([*python, "-c", WRITE], folder=empty)
    run([*python, "-m", "pyflowdata", "verify", "good.tfrecord"], folder=empty)
    run([*python, "-m", "pyflowdata", "verify", "bad.tfrecord"], folder=empty, fails=True)
    (empty / "lines.txt").write_text("a line\n" * 1000)


def pythons() -> Iterator[Path]:
    """Interpreters, one of each version and kind."""
    if named := os.environ.get("PYTHONS"):
        candidates = named.split()
    else:
        candidates = [f"python3.{minor}{kind}" for minor in range(10, 16) for kind in ("", "t")]
        installed = Path.home() / ".pyenv" / "versions"
        candidates += sorted(map(str, installed.glob("3.1*/bin/python3")))
    seen = set()
    for candidate in candidates:
        code = "import sys, sysconfig as s; print(sys.version_info[:2], s.get_config_var('SOABI'))"
        path = shutil.which(candidate)
        asked = path and subprocess.run([path, "-c", code], capture_output=True, text=True)
        if asked and asked.returncode == 0 and asked.stdout not in seen:
            seen.add(asked.stdout)
            yield Path(path)


def test_here(wheel: str, kit: str, folder: Path) -> None:
    store = folder / "store"
    print("python    numpy     install   numpy imported   with pyflowdata   then the first batch")
    tested = set()
    for python in pythons():
        download = ["-m", "pip", "download", "-q", "-d", store, "--only-binary=:all:"]
        quiet = "--disable-pip-version-check"
        subprocess.run([python, *download, quiet, "numpy", "cffi"], check=True, stderr=-3)
        venv = folder / "venv"
        shutil.rmtree(venv, ignore_errors=True)
        subprocess.run([python, "-m", "venv", venv], check=True)
        own = str(venv / "bin" / "python")
        start = time.monotonic()
        subprocess.run(
            [own, "-m", "pip", "install", "-q", quiet, "--no-index", "--find-links", store, wheel,
             kit], check=True, env={"PATH": "", "HOME": str(folder)},
        )  # fmt: skip
        seconds = time.monotonic() - start
        use([own], folder / "use")
        check = ["check", "--quick", "--op", "MiniReader", "--attr", f"data_dir={ROOT / 'data'}"]
        run([own, "-m", "pyflowdata", *check], folder=folder / "use")
        runs = [json.loads(run([own, "-c", MEASURE], folder=folder / "use/empty")) for _ in "12345"]
        if any(CODECS.search(path) for path in runs[0]["mapped"]):
            sys.exit(f"{wheel} takes a codec from the system")
        best = {key: 1000 * min(one[key] for one in runs) for key in ("numpy", "both", "first")}
        print(
            f"{runs[0]['version']:<9} {runs[0]['numpy_version']:<9} {seconds:5.1f} s "
            f"{best['numpy']:13.0f} ms {best['both']:14.0f} ms {best['first']:16.1f} ms",
            flush=True,
        )
        tested.add(".".join(runs[0]["version"].split(".")[:2]))
    for version in sorted(set(EXPECTED) - tested):
        print(f"Python {version} is not here, left out")
    if not tested:
        sys.exit("no Python was found")


def test_under_qemu(wheel: str, folder: Path, arch: str) -> None:
    """With the Python of Debian for that architecture."""
    emulator = shutil.which(f"qemu-{arch}")
    root = folder / f"debian-{arch}"
    if not (root / "usr" / "bin").is_dir() or emulator is None:
        for command in (
            [ROOT / "tools/install_packages", f"wheels for {arch}", "arm"],
            [ROOT / "tools/wheel/fetch_python", arch, root],
        ):
            subprocess.run(command, check=True)
        emulator = shutil.which(f"qemu-{arch}")
    assert emulator
    (python,) = (root / "usr" / "bin").glob("python3.[0-9]*[0-9]")
    version = python.name.removeprefix("python")
    site = folder / f"site-{arch}"
    shutil.rmtree(site, ignore_errors=True)
    tags = [f"--platform=manylinux{tag}_{arch}" for tag in ("_2_28", "_2_27", "_2_17", "2014")]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", *tags,
         "--only-binary=:all:", f"--python-version={version}", "--target", site, wheel], check=True,
    )  # fmt: skip
    set_up = f"import sys; sys.path.insert(0, {str(site)!r})"
    (root / "usr/lib" / python.name / "sitecustomize.py").write_text(set_up + "\n")
    environment = ["-E", f"PYTHONHOME={root / 'usr'}", "-L", str(root)]
    start = time.monotonic()
    use([emulator, *environment, str(python)], folder / "use")
    seconds = time.monotonic() - start
    print(f"{arch} under qemu, Python {version}: all is well, in {seconds:.0f} s")


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    kits = [wheel for wheel in sys.argv[2:] if "pyflowdata_kit-" in wheel]
    for wheel in (wheel for wheel in sys.argv[2:] if wheel not in kits):
        arch = re.sub(r".*_(x86_64|aarch64)\.whl$", r"\1", wheel)
        if arch == platform.machine():
            (kit,) = (kit for kit in kits if kit.endswith(f"_{arch}.whl"))
            test_here(wheel, kit, folder.resolve())
        else:
            test_under_qemu(wheel, folder.resolve(), arch)


if __name__ == "__main__":
    main()
