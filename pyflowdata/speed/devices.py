"""Devices of torch and jax, which do their work asynchronously."""

from __future__ import annotations

import sys
from typing import Any


def wait_for_devices() -> None:
    """Returns when devices have done what torch and jax, where they are loaded, have asked for."""
    cuda: Any = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is not None and cuda.is_initialized():
        cuda.synchronize()
    jax: Any = sys.modules.get("jax")
    if hasattr(jax, "live_arrays"):
        jax.block_until_ready(jax.live_arrays())
