"""The names of the groups of checks for which the plugin is compiled again."""

from __future__ import annotations

SANITIZERS = {"asan": "address", "ubsan": "undefined", "tsan": "thread"}  # as compilers name them
FUZZ = "fuzz"
NATIVE_GROUPS = (*SANITIZERS, FUZZ)
