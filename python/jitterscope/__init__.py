"""Measures how long GPU work takes, and why that time varies.

    import jitterscope as js
    time = js.measure(lambda: model(x))
    print(time)                     # the command line's table
    time.median, time.interval      # seconds

js.measure times a callable; js.benchmark marks one with parameters; js.compare says which of several is faster, in
fresh processes; js.judge says it of a file that may want to cheat; js.explain says which causes move its time; js.advise tries what would make a model faster; js.Kernel
is a CUDA kernel by its source; js.run, js.study and js.gate do what the command line does; js.capture records another
program. All times are in seconds, all clocks in hertz.
"""

from typing import TYPE_CHECKING

from ._advise import advise
from ._allocation_pattern import allocation_pattern
from ._benchmark import Benchmark, benchmark
from ._capture import Capture, capture
from ._command import Comparison, compare, gate, run, study
from ._device import Stream, stream
from ._errors import Error, FailedError, MissingError, UsageError
from ._explain import explain
from ._judge import Judge, Judgement, judge
from ._kernel import Kernel
from ._library import version
from ._loss_scaling import LossScaling, loss_scaling
from ._measure import describe, devices, measure
from ._measurement import Measurement
from ._network import Total
from ._result import Finding, KernelTime, Plot, Record, Time
from ._times import Times

__all__ = ["Benchmark", "Capture", "Comparison", "Error", "FailedError", "Finding", "Judge", "Judgement",
           "Kernel", "KernelTime", "LossScaling", "Measurement", "MissingError", "Plot", "Record", "Stream", "Time", "Times", "Total", "UsageError", "advise",
           "allocation_pattern", "benchmark", "capture", "compare", "describe", "devices", "explain", "gate",
           "judge", "loss_scaling", "measure", "run", "stream", "study", "version"]

if TYPE_CHECKING:
    __version__: str
else:
    def __getattr__(name):
        # The library knows its version, and an import does not open it.
        if name != "__version__":
            raise AttributeError(f"module 'jitterscope' has no attribute {name!r}")
        try:
            return version()
        except MissingError as error:
            raise AttributeError(f"jitterscope.__version__: {error}") from None
