"""The environment and the fixtures of pyflowdata's own tests."""

from support.session import *  # noqa: F403
