"""A program that is a fork of a warm process sees what it would see if Python had started anew."""

import json
import os
import signal
import subprocess
import sys

import pytest
from support.paths import ROOT
from support.warm_python import WarmPython

if not isinstance(getattr(subprocess, "_fork_exec", None), WarmPython):
    pytest.skip("programs start as ever: with a sanitizer, or before Python 3.11",
                allow_module_level=True)  # fmt: skip

LOOK = """
import sys
import pyflowdata
modules = sorted(sys.modules)
import json, os, signal
main = sys.modules["__main__"]
streams = [sys.stdin, sys.stdout, sys.stderr]
json.dump({
    "modules": modules, "main": sorted(main.__dict__), "file": getattr(main, "__file__", None),
    "argv": sys.argv, "path": sys.path, "flags": str(sys.flags),
    "environment": dict(os.environ), "folder": os.getcwd(), "parent": os.getppid(),
    "streams": [[one.name, one.encoding, one.errors, one.line_buffering] for one in streams],
    "files": [os.readlink(f"/proc/self/fd/{fd}").split(":")[0] for fd in range(3)],
    "open": len(os.listdir("/proc/self/fd")), "threads": len(os.listdir("/proc/self/task")),
    "leads": [os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid()],
    "handlers": [str(signal.getsignal(one)) for one in (signal.SIGINT, signal.SIGPIPE)],
    "mask": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
}, sys.stdout)
sys.stderr.write("said")
sys.exit(7)
"""


def seen(*words, **options):
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT), "MORE": "1"}, **options,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (7, "said"), done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("words", [("-c", LOOK), ("look.py",), ("-m", "look")])
def test_a_fork_is_as_a_new_process(words, tmp_path, monkeypatch):
    (tmp_path / "look.py").write_text(LOOK)
    options = {"cwd": tmp_path, "start_new_session": words[0] == "-c"}
    warm, before = subprocess._fork_exec, signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    try:
        found = seen(*words, "an argument", **options)
        monkeypatch.setattr(subprocess, "_fork_exec", warm.start)
        assert found == seen(*words, "an argument", **options)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    assert found["parent"] == os.getpid() and found["mask"] == [signal.SIGUSR1]


@pytest.mark.parametrize("code, status", [
    ("1 / 0", 1), ("raise KeyboardInterrupt", -signal.SIGINT), ("import os; os.abort()", -6),
])  # fmt: skip
def test_it_ends_as_a_new_process(code, status, monkeypatch):
    command = [sys.executable, "-c", f"import pyflowdata\n{code}"]
    first = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    monkeypatch.setattr(subprocess, "_fork_exec", subprocess._fork_exec.start)
    second = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert first.returncode == status
    assert (first.returncode, first.stderr) == (second.returncode, second.stderr)
