"""The end of a loader, and a signal, end the pauses between two tries of a call of the system."""

import pytest
from support import programs
from support.oracle import SANITIZED
from support.session import PRELOADED

from loader import fault_runs

pytestmark = pytest.mark.skipif(SANITIZED or PRELOADED, reason="a sanitizer is preloaded as well")

# Each of the six files of a batch is opened at the sixth try, a third of a second after the first.
# Tries are counted, not seconds: without an end of the pauses there are 36.
BEGIN = """
import ctypes, errno, pathlib, signal, sys, threading, time
from loader.fault_runs import ALL, Fault, write_images, arm
import pyflowdata as flow
faults = ctypes.CDLL(None)
images = pathlib.Path(sys.argv[1])
write_images(images)
blob = flow.ImageFolderReader(str(images), batch_size=6)[0]
loader = flow.DataLoader(blob, num_threads=1, prefetch=1)
expected = [batch.values.tobytes() for batch in loader]
loader.seek(1)  # the batch that may have been made ahead is another one
expected = expected[1:] + expected[:1]
def begin(times=ALL, signal_at=4):
    arm(Fault("open", 0, times, errno.EAGAIN, False))
    faults.faults_let_through(6)
    faults.faults_signal_at(signal_at)
"""
CLOSED = """
def take():
    try:
        next(iter(loader))
    except flow.CancelledError:
        found.append("refused")
found = []
begin(signal_at=-1)
taker = threading.Thread(target=take)
taker.start()
while faults.faults_calls() < 4:
    time.sleep(0.001)
loader.close()
after = faults.faults_calls()
taker.join()
print(found, after < 30, faults.faults_calls() == after)
"""
INTERRUPTED = """
batches = loader.repeat()
try:
    begin()
    next(batches)
except KeyboardInterrupt:
    print("interrupted", faults.faults_calls() < 30)
faults.faults_arm(-1, 0, 0, 0, 0)
print([next(batches).values.tobytes() for _ in expected] == expected)
"""
HANDLED = """
signal.signal(signal.SIGINT, lambda *_: handled.append(loader.stats()["batches"]))
handled = []
begin(5)
print(next(iter(loader)).values.tobytes() == expected[0], len(handled))
"""
CLOSES = """
signal.signal(signal.SIGINT, lambda *_: loader.close())
try:
    begin()
    next(iter(loader))
except flow.CancelledError:
    print("refused", faults.faults_calls() < 30)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return fault_runs.build(tmp_path_factory.mktemp("library"))


@pytest.mark.parametrize(
    ("code", "said"),
    [(CLOSED, "['refused'] True True\n"), (INTERRUPTED, "interrupted True\nTrue\n"),
     (HANDLED, "True 1\n"), (CLOSES, "refused True\n")],
    ids=["close() in a thread", "Ctrl-C", "a handler that returns", "a handler that closes"],
)  # fmt: skip
def test_a_pause_ends(code, said, library, tmp_path):
    with_faults = fault_runs.environment_with(library)
    done = programs.run(BEGIN + code, tmp_path / "images", env=with_faults)
    assert (done.stdout, done.stderr) == (said, "")
