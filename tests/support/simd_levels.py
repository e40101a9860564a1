"""Other vector instructions than those of this process."""

from __future__ import annotations

import os
import subprocess
import sys


def output_at(level: str, code: str) -> str:
    """What Python code prints in a process with these instructions: plain, avx2 or avx512."""
    environment = {**os.environ, "PYFLOWDATA_SIMD": level, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run([sys.executable, "-c", code], env=environment, text=True,
                         capture_output=True, check=True)  # fmt: skip
    return run.stdout
