"""What the rules of verdicts find, and the constants that they share."""

from __future__ import annotations

from dataclasses import dataclass, field

# A thing is the limit if it takes more than half of what there is: of the threads' time, or of an
# item's own.
MOST = 0.5
# A stage that one thread does is the limit if that thread is in it nearly all the time; the rest is
# handing batches on.
ALWAYS = 0.8
# If the other threads have no work meanwhile, less suffices: then nothing else holds batches up.
OFTEN = 0.4
# Of the time in which threads could have worked: below it, work was missing rather than threads.
# The rest is what waking threads up and handing on costs where batches are small.
BUSY = 0.6
# Blocked threads: less is what locks and waking up take.
BLOCKED = 0.3
# Of the loop's time without memory for a batch: less happens where a batch is late once.
NO_MEMORY = 0.2
# The kernel counts this for each processor; a twentieth of their time is felt in every step.
THROTTLED = 0.05
# Of a processor: a rate that is nearer to a whole number than this is that number.
NEARLY = 0.25
# Records of a file, below which opening it costs more than reading them.
MANY_FILES = 4
# Bytes of a file, up to which opening and closing it takes longer than reading it.
SMALL_FILE = 32_000
# Long steps of a training loop: so many times as long as half of the steps are at most.
LONG = 8
# A gain in steps that is worth a change.
WORTH = 0.05
# In seconds, of all first batches, or of all long steps together: less is not felt, whatever it is
# a part of.
FELT = 0.1
# In seconds, of all waits and copies together: less may be a disturbance of the moment.
TOO_SHORT = 0.01
# The program may hold the batch that next() gave it and the one before; more is held on purpose.
USUALLY_HELD = 2


COMPILE = "compile it with numba.njit, or use ops of pyflowdata, which are C"
RUN_ELSEWHERE = (
    f"run it in processes (processes=2 or more where it is registered or mapped), {COMPILE}"
)
VECTORISE = "have it called once for a batch (per=\"batch\") with NumPy on all rows"
CACHE = "cache() of a data set, flow.Dataset({...}).cache() for blobs (docs/how-to/cache.md)"
KEEP = f"keep results before the first random op with {CACHE}"
KEEP_SAME = f"if its results do not change from epoch to epoch, keep them with {CACHE}"
OF_DATASET = (  # of the program, whose samples Python fetches
    "give the dataset __getitems__, which fetches the samples of a batch in one call",
    "read files by a reader of pyflowdata, whose threads need no workers (docs/how-to/torch.md)",
)


@dataclass(frozen=True)
class Finding:
    """What a rule found; as in Verdict.

    Attributes:
        cause: In a word.
        said: In a clause of a sentence.
        remedies: The most promising first.
        evidence: Numbers besides those that every verdict has.
    """

    cause: str
    said: str
    remedies: tuple[str, ...]
    evidence: dict[str, float] = field(default_factory=dict)
