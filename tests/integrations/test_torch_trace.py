"""A trace and a profile of torch: the same clock, one file; make test-torch runs this."""

import json
import re

import numpy as np
import pytest
from support.paths import ROOT

import pyflowdata as flow

torch = pytest.importorskip("torch")

from torch.profiler import ProfilerActivity, profile, record_function  # noqa: E402

from pyflowdata.integrations.torch import TorchLoader  # noqa: E402

SLACK_US = 2000  # between the clocks of two processors, and for what is interrupted in between


def test_the_clock_is_that_of_a_profile(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = flow.from_arrays({"x": np.arange(64.0)}).batch(4)["x"]
    with TorchLoader(flow.DataLoader(x, num_threads=2)) as loader:
        with profile(activities=[ProfilerActivity.CPU]) as profiled, loader.trace("trace.json"):
            batches = iter(loader)
            for _ in range(16):
                with record_function("the program's next()"):
                    batch = next(batches)
                with record_function("step"):
                    (batch * 2).sum()
        profiled.export_chrome_trace("torch.json")
    page = (ROOT / "docs/speed/trace.md").read_text()
    *_, code = re.findall(r"```python\n(import json\n.*?)```", page, re.DOTALL)
    exec(compile(code, "docs/speed/trace.md", "exec"), {})  # noqa: S102
    with open("both.json", encoding="utf-8") as file:
        both = json.load(file)
    with open("torch.json", encoding="utf-8") as file:
        theirs = json.load(file)
    assert both["baseTimeNanoseconds"] == theirs["baseTimeNanoseconds"]
    slices = [event for event in both["traceEvents"] if event["ph"] == "X"]
    asked = [event for event in slices if event["name"] == "the program's next()"]
    given = [event for event in slices if event["name"].startswith("next(): step")]
    assert len(asked) == len(given) == 16
    for outer, inner in zip(asked, given, strict=True):
        assert outer["ts"] - SLACK_US <= inner["ts"]
        assert inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"] + SLACK_US
    assert asked[0]["pid"] != given[0]["pid"]  # no slice of one is inside a slice of the other


def test_profiles_of_another_base_are_moved(tmp_path, monkeypatch):
    """As a torch writes them that chooses another base, or none: then ts is since 1970."""
    monkeypatch.chdir(tmp_path)
    with flow.DataLoader(flow.from_arrays({"x": np.arange(8)}).batch(4)["x"]) as loader:
        with loader.trace("trace.json"):
            list(loader)
    with open("trace.json", encoding="utf-8") as file:
        ours = json.load(file)
    (first, *_) = [event for event in ours["traceEvents"] if event["ph"] == "X"]
    with open("torch.json", "w", encoding="utf-8") as file:
        json.dump({"traceEvents": []}, file)
    page = (ROOT / "docs/speed/trace.md").read_text()
    *_, code = re.findall(r"```python\n(import json\n.*?)```", page, re.DOTALL)
    exec(compile(code, "docs/speed/trace.md", "exec"), {})  # noqa: S102
    with open("both.json", encoding="utf-8") as file:
        both = json.load(file)
    (moved, *_) = [event for event in both["traceEvents"] if event["ph"] == "X"]
    expected = first["ts"] + ours["baseTimeNanoseconds"] / 1000
    assert moved["ts"] == pytest.approx(expected, rel=1e-15)
