"""Devices of torch and jax, which do their work asynchronously."""

from __future__ import annotations

import sys
from typing import Any


def _cuda() -> Any:
    """That of torch, where it is in use."""
    cuda: Any = getattr(sys.modules.get("torch"), "cuda", None)
    return cuda if cuda is not None and cuda.is_initialized() else None


def has_devices() -> bool:
    """Whether what is asked of torch or jax may be done later."""
    return _cuda() is not None or "jax" in sys.modules


def wait_for_devices() -> None:
    """Returns when devices have done what torch and jax, where they are loaded, have asked for."""
    cuda = _cuda()
    if cuda is not None:
        cuda.synchronize()
    jax: Any = sys.modules.get("jax")
    if hasattr(jax, "live_arrays"):
        jax.block_until_ready(jax.live_arrays())
