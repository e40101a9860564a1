"""The environment and the fixtures of all tests."""

from support.session import *  # noqa: F403
