"""Calls peers.py in a process of its own, so that no tool disturbs another."""

# Columns of the tables, in their order.
TOOL_LABELS = {"cupti": "CUPTI (torch.profiler)", "do_bench": "do_bench",
               "do_bench_cudagraph": "do_bench_cudagraph", "torch_benchmark": "torch.utils.benchmark",
               "events": "events, empty queue"}
LIMIT_SECONDS = 90.0


def run(session, tool, names):
    command = [*session.peers, tool, "--problems", ",".join(names)]
    finished, document = session.run_with_json(command, LIMIT_SECONDS)
    return {"command": " ".join(finished.command), "wall_seconds": finished.seconds, "times": document}


def describe(session):
    return session.run_with_json([*session.peers, "describe"], LIMIT_SECONDS)[1]


def seconds_of(times, name):
    """Time of a problem, or nothing where it was not measured."""
    return times.get(name, {}).get("seconds")
