"""Worker processes: one pool of them, and four users.

Each user needs something else:

- An op that is a Python function (`pyops/processes.py`): new processes of Python that end with the
  last loader that uses the op, also in the middle of a call; rows in shared memory; the exception
  of the user's function with the traceback in the worker; a new process in place of a dead one.
- The DataLoader with torch's arguments (its own `workers.py`): processes of the program's context
  of multiprocessing, forks among them; files in memory for batches; the exception of the dataset
  with its traceback; the sample that a worker had when it died.
- `pyflowdata convert --jobs` (`cli/conversion.py`): new processes, one task after the
  other, the progress of each process, and no messages of Ctrl-C.
- The checks of ops, in a separate package: a new process that stays for the next job, in an
  environment of its own; it makes forks, and ends them before it ends.

All users need: a worker ends with the program, even if that is killed; Ctrl-C is for the program; a
fork of the program has no workers; the death of a worker is noticed at once, and its signal shown.

`pool.py` is the program's side, `inside.py` the worker's.  `shared_memory.py` and
`remote_errors.py` have the memory and the exceptions that the two sides exchange.
"""
