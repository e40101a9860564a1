"""The variables that launchers set for the processes that they start."""

PAIRS = {
    "RANK": "WORLD_SIZE",
    "HOROVOD_RANK": "HOROVOD_SIZE",
    "OMPI_COMM_WORLD_RANK": "OMPI_COMM_WORLD_SIZE",
    "PMI_RANK": "PMI_SIZE",
    "MV2_COMM_WORLD_RANK": "MV2_COMM_WORLD_SIZE",
    "JSM_NAMESPACE_RANK": "JSM_NAMESPACE_SIZE",
}


def step(rank, tasks, **others):
    """What srun tells a task."""
    return {
        "SLURM_JOB_ID": "7",
        "SLURM_JOB_NAME": "train",
        "SLURM_STEP_ID": "0",
        "SLURM_PROCID": str(rank),
        "SLURM_STEP_NUM_TASKS": str(tasks),
        "SLURM_NTASKS": str(tasks),
        **others,
    }


# Launcher -> the variables that name rank and size, and what the launcher sets, in the order asked.
LAUNCHERS = {
    name: (size, {name: "2", size: "4"}) for name, size in list(PAIRS.items())[:2]
}
LAUNCHERS["SLURM_PROCID"] = ("SLURM_STEP_NUM_TASKS", step(2, 4))
LAUNCHERS |= {name: (size, {name: "2", size: "4"}) for name, size in list(PAIRS.items())[2:]}
