"""Stands in for PyTorch: what the scripts call, with made-up kernels in the trace of the profiler; no GPU.

STAND_IN_LACKS: "torch" or "gpu", which then is missing. STAND_IN_PROCESSES: a file that counts the processes, so that
each has times of its own: those of process N are longer by N times STAND_IN_STEP (a share, default 0). With
STAND_IN_QUEUE=full the GPU never waits for the host, with STAND_IN_QUEUE=first before a network's first convolution,
with STAND_IN_QUEUE=op before the first kernel of each call.
"""

import json
import os
import types

if os.environ.get("STAND_IN_LACKS") == "torch":
    raise ImportError("No module named 'torch'")

__version__ = "2.11.0+stand-in"
float16, float32, channels_last, contiguous_format = "float16", "float32", "channels_last", "contiguous_format"
KERNELS = {"fprop": [("void pad<float, 4>(float*)", 2.0), ("gemm_fprop", 100.0)],
           "dgrad": [("void pad<float, 4>(float*)", 4.0), ("gemm_dgrad", 50.0)],
           "wgrad": [("Memset (Device)", 0.8), ("gemm_wgrad", 80.0)]}
CATEGORIES = {"Memset (Device)": "gpu_memset"}
FORWARD = (30.0, 20.0, 10.0)  # a network's convolutions
events = []


def process_number():
    """0 for the first process, and so on."""
    path = os.environ.get("STAND_IN_PROCESSES")
    if not path:
        return 0
    with open(path, "a", encoding="utf-8") as file:
        file.write("x")
        return file.tell() - 1


factor = 1 + process_number() * float(os.environ.get("STAND_IN_STEP", "0"))


def launch(call, kernels, is_first=False):
    """An operator's call, and for each kernel what starts it and itself, as kineto writes them."""
    waiting = {"full": False, "first": is_first}.get(os.environ.get("STAND_IN_QUEUE"), True)
    start = len(events) * 1000.0
    events.append({"ph": "X", "cat": "cpu_op", "name": call, "ts": start, "dur": 900.0, "tid": 1})
    for number, (name, time) in enumerate(kernels):
        correlation = len(events)
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": start + 1 + number,
                       "dur": 1.0, "tid": 1, "args": {"correlation": correlation}})
        began = start + 500 + 100 * number
        if not waiting or (number > 0 and os.environ.get("STAND_IN_QUEUE") == "op"):
            began = max([event["ts"] + event["dur"] for event in events if event["tid"] == 7], default=began) + 1
        events.append({"ph": "X", "cat": CATEGORIES.get(name, "kernel"), "name": name, "ts": began, "dur": time * factor,
                       "tid": 7, "args": {"correlation": correlation}})


class Tensor:
    grad = None

    def __init__(self, after=()):
        self.after = after

    def to(self, *_, **__):
        return self

    cuda = half = requires_grad_ = train = to

    def backward(self, *_):
        for direction in self.after:
            launch("aten::convolution_backward", KERNELS[direction])


class Convolution(Tensor):
    def zero_grad(self, set_to_none):
        assert set_to_none

    def __call__(self, _):
        launch("aten::cudnn_convolution", KERNELS["fprop"])
        return Tensor(("dgrad", "wgrad"))


class Network(Convolution):
    def __call__(self, _):
        for number, time in enumerate(FORWARD):
            launch("aten::cudnn_convolution", [("convolution", time)], is_first=number == 0)
        return Loss()


class Loss(Tensor):
    def backward(self):
        for time in reversed(FORWARD):
            launch("aten::convolution_backward", [("dgrad", 2 * time), ("wgrad", time)])


class Profile:
    def __init__(self, activities):
        self.activities = activities

    def __enter__(self):
        events.clear()
        return self

    def __exit__(self, *_):
        self.recorded = list(events)

    def export_chrome_trace(self, path):
        # As kineto does: the file at the path is another one then.
        with open(path + ".tmp", "w", encoding="utf-8") as file:
            json.dump({"traceEvents": self.recorded}, file)
        os.rename(path + ".tmp", path)


def sleep(cycles):
    """At 1900 MHz, and a microsecond more."""
    launch("aten::_sleep", [("at::cuda::(anonymous namespace)::spin_kernel(long)", (cycles / 1900.0 + 1.0) / factor)])


def tensor(*_, **__):
    return Tensor()


randn = randn_like = randint = manual_seed = tensor
device = lambda name: types.SimpleNamespace(index=None, name=name)  # noqa: E731
cuda = types.SimpleNamespace(is_available=lambda: os.environ.get("STAND_IN_LACKS") != "gpu", set_device=tensor,
                             synchronize=tensor, _sleep=sleep, get_device_name=lambda: "stand-in GPU")
backends = types.SimpleNamespace(cudnn=types.SimpleNamespace(version=lambda: 91900))
nn = types.SimpleNamespace(Conv2d=lambda *_: Convolution(),
                           functional=types.SimpleNamespace(cross_entropy=lambda output, _: output))
profiler = types.SimpleNamespace(profile=Profile, ProfilerActivity=types.SimpleNamespace(CPU="cpu", CUDA="cuda"))
