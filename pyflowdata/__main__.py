"""`python -m pyflowdata`: the command line of pyflowdata/cli."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
