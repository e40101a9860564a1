"""The comparison with torch's DataLoader: each sample comes once, with both loaders."""

import subprocess
import sys

import pytest

from support.paths import ROOT

for name in ("torch", "PIL"):
    pytest.importorskip(name, reason=f"{name} is not installed")


@pytest.mark.slow
def test_every_contender_is_exact():
    done = subprocess.run(
        [sys.executable, "-m", "bench.torch_dataloader", "--smoke"], cwd=ROOT, capture_output=True,
        text=True, timeout=550,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("exact") == 11 and "WRONG" not in done.stdout
