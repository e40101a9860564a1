"""How a loader adjusts its threads and the batches that it makes ahead."""

from __future__ import annotations

import dataclasses
from typing import Any

from ..native import CData, lib, new_struct
from ..words.plain_text import number, percent

_WHY = {
    lib.PFD_TUNE_MORE_THREADS: "the program waited, and the threads were busy",
    lib.PFD_TUNE_FEWER_THREADS: "the program waited, and fewer threads may do as well",
    lib.PFD_TUNE_MORE_PREFETCH: "the program waited, and threads were idle at other times",
    lib.PFD_TUNE_IDLE_THREADS: "the program did not wait, and threads were idle",
    lib.PFD_TUNE_LESS_PREFETCH: "the program waits, and a smaller prefetch may do as well",
    lib.PFD_TUNE_AGAIN: "the program waited after threads had been given back",
}
_OUTCOMES = {
    lib.PFD_TUNE_TRYING: "being tried",
    lib.PFD_TUNE_KEPT: "kept",
    lib.PFD_TUNE_TAKEN_BACK: "taken back",
}
_STATES = {
    lib.PFD_TUNING_MEASURING: "too little is known yet",
    lib.PFD_TUNING_TRYING: "a change is being tried",
    lib.PFD_TUNING_CALM: "the program does not wait for batches",
    lib.PFD_TUNING_TRIED: "the program waits; what might help was tried without gain, and will be "
    "tried again",
    lib.PFD_TUNING_COMPUTING: "the program waits; the threads compute all the time, and no "
    "processor is free for more of them",
    lib.PFD_TUNING_AT_MOST: "the program waits; there are as many threads and batches as there "
    "may be",
    lib.PFD_TUNING_SEQUENTIAL: "the program waits although threads are idle: they have no work, "
    "because it must be done in sequence, or memory_budget is used up",
}


@dataclasses.dataclass(frozen=True)
class Decision:
    """One change of num_threads or prefetch.  Pairs have the values before and after the change;
    the second is None as long as it is not known.
    """

    at_seconds: float  # after the loader was opened
    reason: str
    outcome: str  # "kept", "taken back", "being tried"
    num_threads: tuple[int, int]
    prefetch: tuple[int, int]
    batches_per_second: tuple[float, float | None]  # that the loader made
    wait_share: tuple[float, float | None]  # time in which the program waited for batches

    def __str__(self) -> str:
        pairs = {"num_threads": self.num_threads, "prefetch": self.prefetch}
        parts = [f"{name} {old} -> {new}" for name, (old, new) in pairs.items() if old != new]
        text = f"{self.at_seconds:.1f} s: {', '.join(parts)}, because {self.reason}; {self.outcome}"
        after, wait = self.batches_per_second[1], self.wait_share[1]
        if after is None or wait is None:
            return text
        return (
            f"{text}: {number(self.batches_per_second[0])} -> {number(after)} batches/s, "
            f"waiting {percent(self.wait_share[0])} -> {percent(wait)} of the time"
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True)
class Tuning:
    """How a loader with num_threads="auto" or prefetch="auto" adjusts itself, at one moment."""

    num_threads: int  # now
    prefetch: int
    automatic: tuple[str, ...]  # "num_threads", "prefetch"
    most_threads: int
    most_prefetch: int
    state: str  # why it is as it is
    wait_share: float  # the share of recent time in which the program waited for batches
    idle_share: float  # the share of the threads' recent time without work
    blocked_share: float  # the share in which work waited for something else than a processor
    in_line_share: float  # the share in which it waited for a processor
    decisions: tuple[Decision, ...]  # the last 64, in order

    def __str__(self) -> str:
        threads, prefetch = (
            f"{name}={now} (auto, 1 to {most})" if name in self.automatic else f"{name}={now}"
            for name, now, most in (
                ("num_threads", self.num_threads, self.most_threads),
                ("prefetch", self.prefetch, self.most_prefetch),
            )
        )
        in_line = f", in line for a processor {percent(self.in_line_share)}"
        shares = (
            f"the program waited {percent(self.wait_share)} of the time; threads were idle "
            f"{percent(self.idle_share)} of it, and blocked {percent(self.blocked_share)}"
            f"{in_line if self.in_line_share >= 0.05 else ''}"
        )
        lines = [f"{threads}, {prefetch}: {self.state}", f"recently: {shares}"]
        return "\n".join([*lines, *map(str, self.decisions)])

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return dataclasses.asdict(self)


def read_tuning(handle: CData) -> Tuning | None:
    """The tuning of a loader at this moment; None: the loader does not adjust itself."""
    info = new_struct("pfd_tuning_info")
    if lib.pfd_loader_get_tuning(handle, info) != lib.PFD_OK:
        return None
    automatic = {"num_threads": info.tunes_threads, "prefetch": info.tunes_prefetch}
    return Tuning(
        num_threads=info.num_threads,
        prefetch=info.prefetch,
        automatic=tuple(name for name, is_tuned in automatic.items() if is_tuned),
        most_threads=info.most_threads,
        most_prefetch=info.most_prefetch,
        state=_STATES[info.state],
        wait_share=info.wait,
        idle_share=info.idle,
        blocked_share=info.blocked,
        in_line_share=info.in_line,
        decisions=_read_decisions(handle),
    )


def _read_decisions(handle: CData) -> tuple[Decision, ...]:
    stats, one = new_struct("pfd_stats"), new_struct("pfd_decision")
    found: list[Decision] = []
    lib.pfd_loader_get_stats(handle, stats)
    while lib.pfd_loader_get_decision(handle, len(found), one) == lib.PFD_OK:
        is_known = one.batches_per_s_after > 0
        found.append(
            Decision(
                at_seconds=(one.at_ns - stats.opened_ns) / 1e9,
                reason=_WHY[one.kind],
                outcome=_OUTCOMES[one.outcome],
                num_threads=(one.from_threads, one.to_threads),
                prefetch=(one.from_prefetch, one.to_prefetch),
                batches_per_second=(
                    one.batches_per_s_before,
                    one.batches_per_s_after if is_known else None,
                ),
                wait_share=(one.wait_before, one.wait_after if is_known else None),
            )
        )
    return tuple(found)
