"""`python3 -m jitterscope …` is the command line; `worker`, `explain-callable`, `loss-scaling`,
`judged-worker`, `judged-fork-server` and `pytest-process` are what it and the plug-in of pytest ask of Python."""

import sys

from . import _command, _explain, _judged_fork_server, _judged_worker, _loss_scaling, _pytest_processes, _worker

if __name__ == "__main__":
    if sys.argv[1:] == ["worker"]:
        sys.exit(_worker.main())
    if sys.argv[1:] == ["explain-callable"]:
        sys.exit(_worker.answer(_explain.explain_asked))
    if sys.argv[1:] == ["loss-scaling"]:
        sys.exit(_worker.answer(_loss_scaling.train_asked))
    if sys.argv[1:2] == ["judged-worker"] and len(sys.argv) == 3:
        sys.exit(_judged_worker.main(sys.argv[2]))
    if sys.argv[1:2] == ["judged-fork-server"] and len(sys.argv) > 2:
        sys.exit(_judged_fork_server.main(sys.argv[2], sys.argv[3:]))
    if sys.argv[1:2] == ["pytest-process"] and len(sys.argv) == 3:
        sys.exit(_pytest_processes.main(sys.argv[2]))
    _command.main()
