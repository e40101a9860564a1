"""`pyflowdata speed`: which of a script's loader and its training is the limit."""

import json
import sys

import pytest
from support import programs
from support.command import here
from support.files import lines, write_parts

import pyflowdata as flow
from pyflowdata.loader import loader as loaders

__all__ = ["here"]

START = """
import sys, threading
import pyflowdata as flow

def nap(seconds):
    threading.Event().wait(seconds)

def open_loader(**attrs):
    return flow.DataLoader(flow.MiniReader({folder!r}, **{{"batch_size": 4, **attrs}}))
"""
QUICK = ("--seconds", "0.02", "--steps", "6")


@pytest.fixture
def script(tmp_path):
    folder = write_parts(tmp_path / "parts", lines(0, 29))

    def write(body):
        path = tmp_path / "train.py"
        path.write_text(START.format(folder=folder) + body)
        return path

    return write


def measured(run):
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def certain(printed):
    """The lines but those that doubt the numbers, which are doubtful in runs this short."""
    lines = printed.rstrip("\n").split("\n")
    found = [line for line in lines if not line.startswith(("Doubtful: ", "To try: "))]
    assert len(found) < len(lines)
    return found


def test_training_is_slower_than_the_loader(here, script):
    path = script("""
loader = open_loader()
for epoch in range(1000):
    for batch in loader:
        nap(0.01)
""")
    found = measured(here("speed", "--json", *QUICK, path))
    assert found["limit"] in ("training", "shared", "unclear")
    assert any("tell little" in note for note in found["notes"])
    for part in ("training_alone", "both_together"):
        assert 3 <= found[part]["steps"] <= 6
        assert found[part]["seconds"] >= 0.01 * found[part]["steps"]
        assert found[part]["steps_per_second"] <= 1 / 0.01
    assert found["loader"] == "train.py:13: DataLoader(MiniReader/out)"
    assert 0 <= found["both_together"]["wait_share"] < 1
    assert found["loader_alone"]["seconds"] >= 0.02


def test_the_loader_is_the_limit(here, script):
    path = script("""
class Slow:
    def __len__(self):
        return 40
    def __getitem__(self, i):
        nap(0.01)
        return i

values = flow.GeneratorReader(Slow(), fields=["value:int64"], batch_size=2)
with flow.DataLoader(values, num_threads=1, prefetch=2) as loader:
    for batch in loader.repeat():
        pass
""")
    for _ in range(5):  # a loaded machine may make one so odd that no limit can be named
        run = here("speed", *QUICK, path)
        assert run.returncode == 0, run.stderr
        *table, sentence = certain(run.stdout)
        if "No limit can be named" not in sentence:
            break
    assert sentence.startswith("The loader is the limit: an infinitely fast loader would gain ")
    assert table[0] == "train.py:20: DataLoader(GeneratorReader/value), 2 records a step"
    assert [line.split("  ")[0] for line in table[1:]] == [
        "loader alone", "training alone", "both together",
    ]  # fmt: skip


def test_the_script_is_run_as_by_python(here, script, tmp_path):
    (tmp_path / "own_module.py").write_text("number = 5")
    path = script("""
import own_module
assert __name__ == "__main__" and own_module.number == 5 and __file__ == sys.argv[0]
print("arguments", sys.argv[1:])
steps = 0
try:
    while True:
        for x in open_loader().repeat():
            try:
                steps += 1
                x *= 2
            except Exception:
                print("never")
except Exception:
    print("never")
finally:
    print("ends after", steps)
print("never")
""")
    before = list(sys.path), list(sys.argv), sys.modules["__main__"]
    run = here("speed", *QUICK, "--json", path, "--epochs", "3", "-x")
    found = measured(run)
    assert (sys.path, sys.argv, sys.modules["__main__"]) == before
    said, end = run.stderr.rstrip("\n").split("\n")
    assert said == "arguments ['--epochs', '3', '-x']"
    steps = found["both_together"]["steps"] + found["training_alone"]["steps"]
    assert end == f"ends after {3 + 3 + 3 + steps}", "the first ones, and two parts that settle"
    assert loaders._watch is None
    sys.modules.pop("own_module")


def test_batches_are_those_of_the_epoch_until_the_last_part(here, script):
    path = script("""
loader, plain = open_loader(), open_loader()
seen, whole = [], []
try:
    for epoch in range(100):
        for batch in loader:
            seen.append(batch.copy())
            batch[:] = 0
finally:
    flat = plain.repeat()
    is_same = [(next(flat).tolist() == one.tolist()) for one in seen]
    print(is_same.index(False) if False in is_same else None, seen[-1].any(), len(loader))
""")
    run = here("speed", "--steps", "20", "--seconds", "0.5", path)
    assert run.returncode == 0, run.stderr
    first, is_whole, steps = run.stdout.split("\n")[0].split()
    assert int(first) == 3 + 3 + 20, "a batch is given again only then"
    assert is_whole == "True", "and as it was, though steps change it"
    assert int(steps) == 8


def test_the_first_loader_with_more_than_a_few_steps_is_taken(here, script):
    path = script("""
check, train = open_loader(batch_size=15), open_loader()
while True:
    assert len(list(check)) == 2
    for batch in train:
        for other in zip(range(2), open_loader(batch_size=3)):
            pass
""")
    found = measured(here("speed", "--json", *QUICK, path))
    assert found["loader"].startswith("train.py:14: ")
    assert found["training_alone"]["records"] == 4 * found["training_alone"]["steps"]


def test_loaders_that_are_made_for_each_epoch_go_on_for_each_other(here, script):
    path = script("""
list(open_loader(batch_size=5))
while True:
    with open_loader() as loader:
        for batch in loader:
            pass
""")
    found = measured(here("speed", "--json", "--steps", "20", "--seconds", "0.1", path))
    assert found["loader"].startswith("train.py:14: ")
    assert found["both_together"]["steps"] + found["training_alone"]["steps"] > 2 * 5


def test_a_script_that_ends_before(here, script):
    path = script("for batch in zip(open_loader(), range(2)): pass")
    run = here("speed", *QUICK, path)
    assert run.returncode == 1
    assert run.stdout == (
        f"{path} ended after 3 steps with one loader; nothing was measured, which begins "
        "after 3 steps\n"
    )
    path = script("for batch in open_loader(): pass\nsys.exit(7)")
    run = here("speed", *QUICK, path)
    assert run.returncode == 7
    parts = [line.split("  ")[0] for line in certain(run.stdout)]
    assert parts[1:] == [
        "loader alone", "both together",
        "Which one is the limit is not known: training alone was not measured.",
        f"{path} ended before all was measured.",
    ]  # fmt: skip
    run = here("speed", *QUICK, script("sys.exit('no data')"))
    assert (run.returncode, run.stderr) == (1, "no data\n")


def test_ctrl_c_prints_what_was_measured(here, script):
    path = script("""
for step, batch in enumerate(open_loader().repeat()):
    if step == 8:
        raise KeyboardInterrupt
""")
    run = here("speed", *QUICK, path)
    assert run.returncode == 130
    parts = [line.split("  ")[0] for line in certain(run.stdout)]
    assert parts[1:3] == ["loader alone", "both together"]
    assert parts[-1] == "Ctrl-C came before all was measured."


def test_a_script_that_raises_shows_its_traceback(here, script):
    path = script("""
def train(batch):
    raise flow.InvalidArgumentError("no such batch")

for batch in open_loader():
    train(batch)
""")
    run = here("speed", *QUICK, path)
    assert run.returncode == 1
    said = run.stderr.split("\n")
    assert said[0].startswith("Traceback")
    assert said[1] == f'  File "{path}", line 15, in <module>'
    assert said[-2].endswith("InvalidArgumentError: no such batch")
    run = here("speed", *QUICK, script("x = ("))
    assert run.returncode == 1 and "SyntaxError" in run.stderr
    with pytest.raises(KeyboardInterrupt):
        here("speed", "--debug", *QUICK, script("raise KeyboardInterrupt"))
    assert loaders._watch is None


def test_blobs_alone(here, script, tmp_path, monkeypatch):
    script("""
def blobs():
    return {"x": flow.MiniReader(sys.modules[__name__].FOLDER, batch_size=4)}

def loader():
    return open_loader()

FOLDER = open_loader.__defaults__
""").rename(tmp_path / "speed_blobs.py")
    text = (tmp_path / "speed_blobs.py").read_text()
    folder = str(tmp_path / "parts")
    (tmp_path / "speed_blobs.py").write_text(text.replace("open_loader.__defaults__", repr(folder)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("blobs", "loader"):
        found = measured(here("speed", "--json", "--seconds", "0.02", "--blobs",
                              f"speed_blobs:{name}"))  # fmt: skip
        assert found["batches"] >= 1 and found["bytes"] == 16 * found["records"]
    run = here("speed", "--seconds", "0.02", "--blobs", "speed_blobs:blobs")
    assert run.stdout.startswith("loader alone\n  records   ")
    for wrong in ("speed_blobs", "speed_blobs:no", "no_module_of_this_name:blobs", "os:path",
                  "speed_blobs:FOLDER"):  # fmt: skip
        assert here("speed", "--blobs", wrong).returncode == 2


def test_threads_forks_and_bars(here, script):
    """A thread that trains ends quietly; what a script forks is not watched; no bar counts."""
    path = script("""
import os
loader = open_loader()
child = os.fork()
if child == 0:
    for epoch in range(9):
        for batch in open_loader():
            pass
    print("the child has ended", flush=True)
    os._exit(0)
os.waitpid(child, 0)

def train():
    for batch in flow.progress(loader, epochs=None):
        pass

thread = threading.Thread(target=train)
thread.start()
thread.join()
print("the script has ended")
""")
    found = programs.run(programs.COMMAND, "speed", *QUICK, path, check=True)
    assert found.stderr == ""
    ends = [line for line in found.stdout.split("\n") if line.endswith("has ended")]
    assert ends == ["the child has ended", "the script has ended"]
    assert found.stdout.count("both together") == 1


def test_wrong_arguments(here, tmp_path):
    assert "give a script, or --blobs" in here("speed").stderr
    assert "give a script, or --blobs" in here("speed", "--blobs", "a:b", "x.py").stderr
    assert "there is no such script" in here("speed", tmp_path / "no.py").stderr
    for wrong in (("--steps", "0"), ("--seconds", "nan"), ("--seconds", "inf")):
        assert here("speed", *wrong, tmp_path / "no.py").returncode == 2


def test_nobody_watches_otherwise(script, tmp_path):
    folder = str(tmp_path / "parts")
    script("")
    with flow.DataLoader(flow.MiniReader(folder, batch_size=4)) as loader:
        assert type(iter(loader)).__module__ == "pyflowdata.loader.epochs"
