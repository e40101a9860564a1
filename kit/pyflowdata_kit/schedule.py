"""The groups of a job: several at a time, and their results in the order of GROUPS."""

from __future__ import annotations

import os
import re
import select
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from .checks import GROUPS, Group
from .group_process import GroupProcess, RunChild, Said
from .job import Job

_LOOK = 0.25  # seconds between two looks at how long the groups take
Started = Callable[[str], None]


def run_groups(job: Job, run_child: RunChild, started: Started) -> Iterator[tuple[str, list[Said]]]:
    """Each group with what it said, as soon as it and all before it are done.

    Args:
        run_child: Runs a group in its process.
        started: Is told the name of each group that begins.
    """
    goes_on, names = True, list[str]()
    for said, goes_on in _run([_DESCRIPTOR], job, run_child, started):
        names = next((one["groups"] for one in said if "groups" in one), [])
        of_sample = next((one for one in said if "part" in one), None)
        if of_sample is not None:
            job = job.of_sample(of_sample["part"], of_sample["is_large"])
        yield _DESCRIPTOR.name, said
    groups = [group for group in GROUPS if group.name in names and _is_wanted(group, job)]
    if not goes_on:
        return
    results = _run(groups, job, run_child, started)
    for group, (said, _) in zip(groups, results, strict=True):
        yield group.name, said


_DESCRIPTOR = Group("descriptor", lambda check: "")  # run_child knows it


def _is_wanted(group: Group, job: Job) -> bool:
    if job.groups is not None:
        return group.name in job.groups
    return group.is_quick or not job.quick


def _run(
    groups: Sequence[Group], job: Job, run_child: RunChild, started: Started
) -> Iterator[tuple[list[Said], bool]]:
    """What each group said, and whether others can follow, in the order of the groups."""
    done: dict[str, tuple[list[Said], bool]] = {}
    # Those that need all cores come first, so that the others fill them to the end.
    waiting = sorted(groups, key=lambda group: not group.is_alone)
    running: list[GroupProcess] = []
    is_alone, most = False, len(os.sched_getaffinity(0))
    try:
        for group in groups:
            while group.name not in done:
                while waiting and _may_start(waiting[0], len(running), is_alone, most):
                    next_one = waiting.pop(0)
                    is_alone = next_one.is_alone
                    started(next_one.name)
                    own = replace(job, folder=_folder_of(next_one, job))
                    running.append(GroupProcess(own, next_one.name, run_child))
                for ended in _wait(running):
                    running.remove(ended)
                    done[ended.group] = ended.close()
            yield done.pop(group.name)
    finally:
        for one in running:
            one.kill()
            one.close()


def _may_start(group: Group, num_running: int, is_alone: bool, most: int) -> bool:
    if num_running == 0:
        return True
    return num_running < most and not is_alone and not group.is_alone


def _wait(running: Sequence[GroupProcess]) -> list[GroupProcess]:
    """Those that have ended, or were stopped, since the last look."""
    pipes = {one.pipe: one for one in running}
    ended = [pipes[pipe] for pipe in select.select(list(pipes), [], [], _LOOK)[0]]
    ended = [one for one in ended if not one.read()]
    for one in running:
        if one in ended:
            continue
        if one.has_ended():
            ended.append(one)
        elif one.is_late():
            one.stop()
            ended.append(one)
    return ended


def _folder_of(group: Group, job: Job) -> str:
    """One of its own, so that no group meets the files of another."""
    folder = os.path.join(job.folder, re.sub("[^a-z0-9]+", "-", group.name))
    os.makedirs(folder, exist_ok=True)
    return folder
