"""js.allocation_pattern: what a program asked PyTorch's allocator for, as a file that `jitterscope study
fragmentation allocation:pattern=FILE` replays."""

from __future__ import annotations

import os
import pickle
from typing import Any, Union

from ._errors import UsageError

# A free is asked for, and completed once other streams are done with the block; only then is its memory another's.
ALLOCATED, FREED = "alloc", "free_completed"


def _snapshot(source: Any) -> Any:
    if isinstance(source, dict):
        return source
    try:
        with open(source, "rb") as file:
            return pickle.load(file)
    except (OSError, TypeError, pickle.UnpicklingError, EOFError) as error:
        raise UsageError(f"{source} is no snapshot: {error}; write one by torch.cuda.memory._dump_snapshot(FILE)") from error


def allocation_pattern(snapshot: Union[dict[str, Any], str, "os.PathLike[str]"], device: int = 0) -> str:
    """The events of a memory snapshot, one a line: `alloc NAME BYTES`, `free NAME`.

    `snapshot` is what torch.cuda.memory._snapshot() returns, or a file of torch.cuda.memory._dump_snapshot (a pickle:
    open only your own), after torch.cuda.memory._record_memory_history(). Blocks that were there before are left out,
    and what is still in use in the end is freed there, so that the pattern can be replayed.
    """
    traces = _snapshot(snapshot).get("device_traces") or []
    events = traces[device] if 0 <= device < len(traces) else []
    lines: list[str] = []
    names: dict[int, str] = {}  # of blocks in use, by address
    count = 0
    for event in events:
        address = event.get("addr")
        if event["action"] == ALLOCATED:
            if address in names:  # its free was not recorded
                lines.append(f"free {names[address]}")
            names[address] = f"b{count}"
            count += 1
            lines.append(f"alloc {names[address]} {event['size']}")
        elif event["action"] == FREED and address in names:
            lines.append(f"free {names.pop(address)}")
    if not lines:
        raise UsageError(f"the snapshot holds no events of device {device}: call "
                         "torch.cuda.memory._record_memory_history() before the work")
    lines += [f"free {name}" for name in names.values()]
    return "\n".join(lines) + "\n"
