"""The verdict over the ranks of a job.

Ranks that train together take each step at the pace of the slowest: while the loader of one is
waited for, the others wait in their training step for its gradients, and their loaders look fast.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from ..plain_text import joined, number, percent, seconds
from .counters import Counters
from .measures import Measures
from .report_text import aligned
from .verdict import BOUND, FEW_STEPS, Verdict, judge

RANK_HEAD = ("rank", "host", "steps", "waited", "of time", "a step", "busy threads", "verdict")


def judge_ranks(counters: Sequence[Counters]) -> Verdict:
    """The verdict over ranks; one or more, in their order."""
    ranks = [Measures(one) for one in counters]
    shares = [one.wait_share + one.copy_share for one in ranks]
    slowest = max(range(len(ranks)), key=lambda i: shares[i])
    own = judge(counters[slowest])
    evidence = {"ranks": len(ranks), "slowest_rank": counters[slowest].rank, **own.evidence}
    if len(ranks) == 1 or min(one.steps for one in ranks) < FEW_STEPS:
        return Verdict(own.limit, own.cause, own.sentence, own.remedies, evidence)
    slow = [i for i, share in enumerate(shares) if share >= max(BOUND, shares[slowest] / 2)]
    others = [share for i, share in enumerate(shares) if i not in slow]
    if slow and others and len(slow) <= len(ranks) / 2:
        return _of_slow(counters, ranks, slow, others, own, evidence)
    sentence = f"{len(ranks)} ranks, all alike; rank {counters[slowest].rank} is {own.sentence}"
    return Verdict(own.limit, own.cause, sentence, own.remedies, evidence)


def _of_slow(
    counters: Sequence[Counters],
    ranks: Sequence[Measures],
    slow: Sequence[int],
    others: Sequence[float],
    own: Verdict,
    evidence: dict[str, float],
) -> Verdict:
    worst = max(slow, key=lambda i: ranks[i].wait_share)
    names = joined([str(counters[i].rank) for i in slow], "and")
    subject = f"rank {names} is slow: its" if len(slow) == 1 else f"ranks {names} are slow: their"
    loader = "loader waits" if len(slow) == 1 else "loaders wait"
    rest = statistics.median(
        one.waited_share for i, one in enumerate(ranks) if i not in slow
    )
    said = own.sentence.partition("; ")[2]
    remedies = own.remedies
    hosts = {one.host for one in counters}
    if len(hosts) > 1:
        remedies = (*remedies, f"compare the machine {counters[worst].host} with the others")
    return Verdict(
        "rank",
        own.cause,
        f"{subject} {loader} in {percent(ranks[worst].waited_share)} of "
        f"{number(ranks[worst].steps)} steps, the others in {percent(rest)}"
        f"{'; ' if said else ''}{said}",
        remedies,
        {**evidence, "others_wait_share": statistics.median(others)},
    )


def ranks_as_text(counters: Sequence[Counters], verdict: Verdict) -> str:
    """The verdict, and a line for each rank."""
    rows = [RANK_HEAD]
    for one in counters:
        m, own = Measures(one), judge(one)
        rows.append((
            str(one.rank),
            one.host,
            number(m.steps),
            percent(m.waited_share),
            percent(m.wait_share),
            seconds(m.step_seconds / m.steps if m.steps else 0.0),
            f"{number(round(m.busy_threads, 1))} of {m.threads}",
            own.cause or own.limit,
        ))  # fmt: skip
    remedies = [f"  - {remedy}" for remedy in verdict.remedies[1:]]
    return "\n".join([verdict.sentence, *remedies, "", *aligned(rows)])
