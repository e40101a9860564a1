"""The form of saved states: their version and numbers, and the refusal of another loader's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import InvalidArgumentError, shown

# What the state of each kind of loader has, and no other.
_KINDS = {"readers": "a loader of readers", "order": "a loader of a torch dataset"}


def malformed(what: str) -> InvalidArgumentError:
    """The error of a state that no loader gave."""
    return InvalidArgumentError(
        f"the state is malformed: {what}; give what DataLoader.state_dict() returned"
    )


def whole(
    container: Mapping[str, Any], key: str, where: str = "", least: int = 0, most: int = 2**63 - 1
) -> int:
    """An int of a state.

    Args:
        container: Has it.
        key: Its name.
        where: What the error says before the name.
        least, most: Its range.

    Raises:
        InvalidArgumentError: It is missing, no int, or outside of the range.
    """
    value = container.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise malformed(f"{where}{key} = {shown(value)}, which must be an int in [{least}, {most}]")
    return int(value)


def as_state(state: object, version: int, kind: str) -> Mapping[str, Any]:
    """A saved state, once its version is known and its kind is right.

    Args:
        state: What the user gives.
        version: The one that is read.
        kind: "readers" or "order": the key that the states of this kind have.

    Raises:
        InvalidArgumentError: It is no state, or one of another version or kind.
    """
    if not isinstance(state, Mapping):
        raise malformed(f"it is a {type(state).__name__}, not a dict")
    if "version" not in state:
        raise malformed("it has no version")
    found = state["version"]
    if type(found) is not int or found != version:
        raise InvalidArgumentError(
            f"the state has version {shown(found)}; this pyflowdata reads version {version}"
        )
    for other, loader in _KINDS.items():
        if other in state and kind not in state:
            raise InvalidArgumentError(
                f"the state is of {loader}, and this is {_KINDS[kind]}; give each loader its own"
            )
    return state


def refuse(differences: Sequence[str]) -> None:
    """Refuses a state of another loader.

    Raises:
        InvalidArgumentError: There are differences; the text lists them.
    """
    if differences:
        raise InvalidArgumentError(
            "the state belongs to another loader:" + "".join(f"\n  - {one}" for one in differences)
        )
