"""The reports of all ranks, which torch.distributed brings together."""

from __future__ import annotations

from typing import Any

import torch.distributed as dist

from ... import RankReport, Report

__all__ = ["gathered"]


def gathered(report: Report) -> RankReport:
    """Of every rank its report, by all_gather_object(); without a process group of this one."""
    if not (dist.is_available() and dist.is_initialized()):
        return RankReport([report])
    reports: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(reports, report)
    return RankReport(reports)
