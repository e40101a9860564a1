"""Runs test files of torch and torchdata with another DataLoader than theirs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from support.paths import ROOT

IMPORT = re.compile(
    r"^from (?:torch\.utils\.data|torchdata\.stateful_dataloader) import (\([^)]*\)|.*)$", re.M
)
LOADER = re.compile(r"^((?:Stateful)?DataLoader)(?: as \w+)?$")
FROM = {
    "DataLoader": "from pyflowdata.integrations.torch import ",
    "StatefulDataLoader": "from support.stateful_loader import ",
}
WAITS = re.compile(r"^JOIN_TIMEOUT = .*$", re.M)  # for a process that the machine may be slow with
WAIT, LIMIT = 200, 300  # seconds: for such a process, for a test

SLOW_IMPORTS = ["torch._dynamo"]  # takes seconds; each test would import it for itself


def with_our_loader(text):
    """The source of a test file, or of a script in it, in which DataLoader is ours."""
    text = IMPORT.sub(lambda found: found[0] + "".join(ours_for(found[1])), text)
    if FROM["DataLoader"] + "DataLoader\n" in text:
        text = text.replace("torch.utils.data.DataLoader(", "DataLoader(")
    return text


def ours_for(imported):
    """The line of import that takes the place of each loader among the imported names."""
    for name in imported.strip("()").split(","):
        loader = LOADER.match(name.strip())
        if loader:
            yield "\n" + FROM[loader[1]] + name.strip()


def run(source, folder, only=(), without=(), ours=True):
    """Name -> (status, why) of the tests of the file `source`, which is copied into the folder.

    The statuses are those of each_in_a_process.py.  `only` and `without` are patterns of their
    names; with `ours` False the loader stays torch's or torchdata's own.
    """
    text = source.read_text(encoding="utf-8")
    text = WAITS.sub(f"JOIN_TIMEOUT = {WAIT}.0", with_our_loader(text) if ours else text)
    copy, results = folder / source.name, folder / "results.jsonl"
    copy.write_text(text, encoding="utf-8")
    command = [sys.executable, str(Path(__file__).with_name("each_in_a_process.py"))]
    command += [str(copy), str(results), "--limit", str(LIMIT)]
    command += ["--only", *only] if only else []
    command += ["--without", *without] if without else []
    command += ["--preload", *SLOW_IMPORTS]
    path = [str(ROOT), str(ROOT / "tests"), *filter(None, [os.environ.get("PYTHONPATH")])]
    ended = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout
    lines = map(json.loads, results.read_text(encoding="utf-8").splitlines())
    return {line["name"]: (line["status"], line["why"]) for line in lines}
