"""How long GPU work takes, and why that time varies.

    import jitterscope as js
    time = js.measure(lambda: model(x))
    print(time)                     # the command line's table
    time.median, time.interval      # seconds

js.measure times a callable; js.benchmark marks one with parameters; js.compare says which of several is faster, in
fresh processes; js.advise tries what would make a model faster; js.Kernel is a CUDA kernel by its source; js.run and js.explain do what the command line does. All times
are in seconds, all clocks in hertz.
"""

from ._advise import advise
from ._benchmark import Benchmark, benchmark
from ._command import Comparison, compare, explain, run
from ._device import Stream, stream
from ._errors import Error, FailedError, MissingError, UsageError
from ._kernel import Kernel
from ._library import version
from ._measure import describe, devices, measure
from ._result import Finding, KernelTime, Measurement, Plot, Record, Time, Times

__all__ = ["Benchmark", "Comparison", "Error", "FailedError", "Finding", "Kernel", "KernelTime", "Measurement",
           "MissingError", "Plot", "Record", "Stream", "Time", "Times", "UsageError", "advise", "benchmark",
           "compare", "describe", "devices", "explain", "measure", "run", "stream", "version"]
