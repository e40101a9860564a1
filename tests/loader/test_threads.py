"""Every call of a DataLoader beside every other call, and beside close(), from two threads.

What the calls return alone is tested elsewhere.  No call may crash, wait for ever, or raise
anything but what it says of a loader that another thread closes or moves.
"""

import re
import sys
import threading
import time

import pytest
from support.oracle import Table, open_loader
from support.paths import ROOT

import pyflowdata as flow
from pyflowdata.insight.speed import wait_until_idle
from pyflowdata.loader.open_loader import open_loader_of

OPTIONS = {"num_threads": 2, "prefetch": 3, "batch_size": 10, "shuffle": True, "seed": 5}
SECONDS = 60  # that no call needs
# Raised in a thread, since another one has closed the loader, moved it, or traces it.
REFUSED = re.compile(
    r"the (Data)?[Ll]oader is (closed|being traced already)|this iterator is over|is used once"
)

pytestmark = pytest.mark.filterwarnings("ignore:.* events did not fit:RuntimeWarning")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return Table(tmp_path_factory.mktemp("parts"), [20, 0, 30])


def take(batches):
    next(iter(batches), None)


class Calls:
    """The calls of a loader by name."""

    def __init__(self, loader, folder):
        self.loader, self.opened = loader, open_loader_of(loader)
        self.state, self.folder = loader.state_dict(), folder
        self.batches = iter(loader)
        take(self.batches)

    def __call__(self, name):
        """Makes a call, which may be refused for a reason in REFUSED."""
        try:
            getattr(self, f"call_{name}", lambda: self.get(name))()
        except flow.Error as failure:
            if not REFUSED.search(str(failure)):
                raise

    def get(self, name):
        """A property, or a method without arguments."""
        found = getattr(self.loader, name)
        return found() if callable(found) else found

    def call_next(self):
        take(self.batches)

    def call___iter__(self):
        take(self.loader)

    def call_repeat(self):
        take(self.loader.repeat())

    def call_read(self):
        self.loader.read([3, 0])

    def call_seek(self):
        self.loader.seek(1)

    def call_load_state_dict(self):
        self.loader.load_state_dict(self.state)

    def call_keep_place(self):
        with self.loader.keep_place():
            take(self.loader)

    def call_speed(self):
        self.loader.speed(steps=1)

    def call_ceiling(self):
        self.loader.ceiling(len, steps=1, warm_up=1)

    def call_try_remedies(self):
        self.loader.try_remedies(seconds=0.001)

    def call_count_copy(self):
        self.loader.count_copy(0.0, 8, "cpu")

    def call_trace(self):
        path = self.folder / f"{threading.get_ident()}.json"
        with self.loader.trace(path, memory=50_000):
            take(self.loader)

    def call_files(self):
        assert len(self.opened.files()) == 3

    def call_first_records(self):
        assert self.opened.first_records(3) == [0, 20, 20]

    def call_file_of_record(self):
        assert self.opened.file_of_record(2, 30).endswith("part-2")


# Public methods and properties, and what Python calls for len(), repr() and so on.
FACE = {
    name
    for cls in flow.DataLoader.__mro__
    if cls.__module__.startswith("pyflowdata.")
    for name in vars(cls)
    if not name.startswith("_") or re.fullmatch(r"__\w+__|_repr_html_", name)
}
ELSEWHERE = {
    "close": "beside every call in a separate test",
    "__exit__": "close()",
    "__init__": "nobody else has the loader yet",
    "__reduce_ex__": "only raises an error", "__next__": "only raises an error",
    "__getitem__": "only raises an error", "__getattr__": "only raises an error",
    "__array__": "only raises an error",
    **dict.fromkeys(("__module__", "__doc__", "__dict__", "__weakref__", "__parameters__",
                     "__orig_bases__", "__firstlineno__", "__static_attributes__",
                     "__annotations__", "__annotate_func__", "__annotations_cache__",
                     "__abstractmethods__"), "of the class"),
}  # fmt: skip
OTHERS = {"next", "files", "first_records", "file_of_record"}  # iterators, and other packages' uses
CALLS = sorted(FACE - set(ELSEWHERE) | OTHERS)
# They read what the loader knows, in microseconds: one thread makes all of them in turn.
QUICK = [
    "__bool__", "__enter__", "__len__", "__length_hint__", "__repr__", "blobs", "collective",
    "count_copy", "data_loader", "epoch", "file_of_record", "files", "first_records", "is_open",
    "last_stall", "memory_budget", "num_threads", "prefetch", "readers", "skipped", "tuning",
]  # fmt: skip
LONGER = [name for name in CALLS if name not in QUICK]
LONGER.remove("try_remedies")  # so long that one thread makes all other calls in turn beside it


@pytest.fixture
def often():
    """Threads take turns often: a call beside a short one does not wait for the end of its turn."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.0002)
    yield
    sys.setswitchinterval(before)


class Beside(threading.Thread):
    """Makes calls in turn, again and again; what one raised is in `failure`."""

    def __init__(self, calls, *names, times=-1):
        super().__init__(daemon=True)
        self.calls, self.names, self.times = calls, names, times
        self.over, self.failure, self.made = threading.Event(), None, 0
        self.start()

    def run(self):
        try:
            while not self.over.is_set() and self.made != self.times:
                for name in self.names:
                    self.calls(name)
                self.made += 1
        except BaseException as failure:  # noqa: BLE001  (told by end())
            self.failure = failure

    def end(self, beside):
        self.join(SECONDS)
        assert not self.is_alive(), f"{self.names} do not return beside {beside}"
        if self.failure is not None:
            raise self.failure


def test_all_calls_are_here():
    """A new method or property of DataLoader needs a call here, if it has required arguments."""
    named = {name.removeprefix("call_") for name in vars(Calls) if name.startswith("call_")}
    assert named <= set(CALLS)
    assert {"stats", "report", "state_dict", "trace", "__len__", "__repr__"} <= set(CALLS)


def test_the_c_test_has_all_calls_about_a_loader():
    """tests/c/test_loader.c does the same with the functions of the library."""
    header = (ROOT / "csrc/include/pyflowdata/pyflowdata.h").read_text()
    tested = re.findall(r"CALL\((\w+)\)[,}]", (ROOT / "tests/c/test_loader.c").read_text())
    declared = re.findall(r"^[\w ]+\*?pfd_loader_(\w+)\(", header, re.MULTILINE)
    assert sorted([*tested, "open", "close", "release"]) == sorted(declared)


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("name", LONGER)
def test_a_call_beside_every_other(table, tmp_path, name):
    with open_loader(table, **OPTIONS) as loader:
        calls = Calls(loader, tmp_path)
        beside = Beside(calls, name)
        for other in LONGER[LONGER.index(name) :]:
            Beside(calls, other, times=1).end(name)
        beside.over.set()
        beside.end(other)


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("names, others", [(QUICK, CALLS), (LONGER, ["try_remedies"])])
def test_calls_in_turn_beside_others(table, tmp_path, names, others):
    """While another call is made at least twice, each of them is made."""
    assert set(names) < set(CALLS)
    with open_loader(table, **OPTIONS) as loader:
        calls = Calls(loader, tmp_path)
        beside = Beside(calls, *names)
        for other in others:
            rounds = beside.made + 2  # the first of them may have started before
            while True:
                Beside(calls, other, times=2).end("calls in turn")
                if beside.made >= rounds or not beside.is_alive():
                    break
        beside.over.set()
        beside.end(other)


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("name", CALLS)
def test_a_call_beside_close(table, tmp_path, name):
    for _ in range(3):
        loader = open_loader(table, **OPTIONS)
        beside = Beside(Calls(loader, tmp_path), name)
        while not beside.made and beside.is_alive():
            time.sleep(0.0005)
        closer = threading.Thread(target=loader.close, daemon=True)
        closer.start()
        loader.close()
        closer.join(SECONDS)
        assert not closer.is_alive(), f"close() does not return beside {name}"
        beside.calls(name)  # of a closed loader
        beside.over.set()
        beside.end("close")


def test_a_closed_loader_is_idle(table):
    """A call that waits for its threads to rest does not wait for those of a closed loader."""
    loader = open_loader(table, **OPTIONS)
    loader.close()
    since = time.monotonic()
    wait_until_idle(loader)
    assert time.monotonic() - since < 5
