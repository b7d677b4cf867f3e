"""`python3 -m jitterscope …` is the command line; `worker`, `explain-callable` and `loss-scaling` are what it asks of Python."""

import sys

from . import _command, _explain, _loss_scaling, _worker

if __name__ == "__main__":
    if sys.argv[1:] == ["worker"]:
        sys.exit(_worker.main())
    if sys.argv[1:] == ["explain-callable"]:
        sys.exit(_worker.answer(_explain.explain_asked))
    if sys.argv[1:] == ["loss-scaling"]:
        sys.exit(_worker.answer(_loss_scaling.train_asked))
    _command.main()
