"""Programs that are forks are told what other processes are told, and end as they do."""

import signal
import subprocess
import sys

import pytest
from support import programs

TOLD = """
import os, sys
print(sys.argv[1:], os.getcwd(), os.environ.get("A"), __name__, sys.stdin.read(), os.listdir("."))
print("said", file=sys.stderr)
print(len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")), os.getsid(0))
"""
ENDS = {
    "pass": 0, "import sys; sys.exit(3)": 3, "raise SystemExit('no')": 1, "1 / 0": 1,
    "import os; os.abort()": -signal.SIGABRT, "raise KeyboardInterrupt": -signal.SIGINT,
}  # fmt: skip


def test_it_is_told_what_a_process_is_told(tmp_path):
    (tmp_path / "here").touch()
    env = programs.environment(A="b")
    done = programs.run(TOLD, 1, "two", input="given", env=env, cwd=tmp_path, check=True)
    real = subprocess.run(
        [sys.executable, "-c", TOLD, "1", "two"], input="given", env=env, cwd=tmp_path, text=True,
        capture_output=True, check=True,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == (real.stdout, real.stderr) and "given" in done.stdout


@pytest.mark.parametrize("code", ENDS)
def test_it_ends_as_a_process_ends(code):
    done = programs.run(code)
    assert done.returncode == ENDS[code] and ("Error" in done.stderr) == (code == "1 / 0")


def test_signals_and_pipes(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("print(__file__, input(), flush=True)\nimport time; time.sleep(60)")
    for end in (signal.SIGINT, signal.SIGKILL):
        with programs.start(
            script, stdin=programs.PIPE, stdout=programs.PIPE, stderr=programs.PIPE,
            start_new_session=True,
        ) as program:  # fmt: skip
            print("given", file=program.stdin, flush=True)
            assert program.stdout.readline() == f"{script} given\n" and program.poll() is None
            with pytest.raises(subprocess.TimeoutExpired):
                program.wait(0.01)
            program.send_signal(end)
            _, said = program.communicate(timeout=30)
        assert program.returncode == -end and ("KeyboardInterrupt" in said) == (end == 2)


def test_variables_that_are_read_at_a_start_count():
    env = programs.environment(PYFLOWDATA_LIBRARY="/no/such.so")
    with pytest.raises(RuntimeError, match="has ended"):
        programs.run("pass", env=env)
