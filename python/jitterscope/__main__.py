"""`python3 -m jitterscope …` is the command line; `python3 -m jitterscope worker` carries out a plan of Python's."""

import sys

from . import _command, _worker

if __name__ == "__main__":
    if sys.argv[1:] == ["worker"]:
        sys.exit(_worker.main())
    _command.main()
