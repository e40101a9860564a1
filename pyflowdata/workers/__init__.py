"""Worker processes: one pool of them, and four users.

What each user asks of it:

- An op that is a Python function (`pyops/processes.py`): new processes of Python that end with the
  last loader that uses the op, also in the middle of a call; rows in shared memory; the exception
  of the user's function with the traceback in the worker; a new process where one has died.
- The DataLoader with torch's arguments (`workers.py` beside it): processes of the program's context
  of multiprocessing, forks among them; files in memory for batches; the exception of the dataset
  with its traceback; which sample a worker had when it died.
- `pyflowdata convert --jobs` (`cli/conversion/shards.py`): new processes, one task after the
  other, how far each of them is, and no word of Ctrl-C.
- The checks of ops, by a package of their own: a new process that is kept for the next job, with an
  environment of its own, which makes forks, and ends them before it ends.

All of them: a worker ends with the program, also where that is killed; Ctrl-C is for the program; a
fork of the program has no workers; the death of a worker is noticed at once, and is told with its
signal.

`pool.py` is the program's side, `inside.py` the worker's; `shared_memory.py` and `remote_errors.py`
are what they send each other.
"""
