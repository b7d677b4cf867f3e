"""The problems as PyTorch runs them: each function returns a callable that launches one on the current stream."""

import functools
import importlib.metadata
import platform

import problems

# The loop of jitterscope's own spin kernel.
SPIN_SOURCE = r"""
__device__ __forceinline__ unsigned long long nanoseconds_now() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
extern "C" __global__ void spin_nanoseconds(unsigned long long amount) {
  if (threadIdx.x == 0) {
    const unsigned long long start = nanoseconds_now();
    while (nanoseconds_now() - start < amount) {
    }
  }
  __syncthreads();
}
"""


def make_gemm(size):
    import torch
    a, b = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    product = torch.empty_like(a)
    return lambda: torch.mm(a, b, out=product)


def make_convolution():
    import torch
    options = {"device": "cuda", "dtype": torch.float16}
    image = torch.randn(256, 64, 56, 56, **options).to(memory_format=torch.channels_last)
    weight = torch.randn(64, 64, 3, 3, **options).to(memory_format=torch.channels_last)
    return lambda: torch.nn.functional.conv2d(image, weight, padding=1)


def make_copy():
    import torch
    source = torch.randn(2**28, device="cuda")  # 1 GiB of float32
    destination = torch.empty_like(source)
    return lambda: destination.copy_(source)


def make_add():
    import torch
    a, b = (torch.randn(2**16, device="cuda") for _ in range(2))
    total = torch.empty_like(a)
    return lambda: torch.add(a, b, out=total)


@functools.cache
def spin_kernel():
    import cupy
    return cupy.RawKernel(SPIN_SOURCE, "spin_nanoseconds")


@functools.cache
def cupy_stream(stream):
    import cupy
    return cupy.cuda.ExternalStream(stream)


def make_spin(nanoseconds, blocks):
    import numpy
    import torch
    torch.cuda.init()
    kernel = spin_kernel()
    amount = (numpy.uint64(nanoseconds),)

    def launch():
        with cupy_stream(torch.cuda.current_stream().cuda_stream):
            kernel((blocks,), (problems.SPIN_THREADS,), amount)

    return launch


MAKERS = {"gemm_512": lambda: make_gemm(512), "gemm_8192": lambda: make_gemm(8192), "conv_3x3": make_convolution,
          "copy_1gib": make_copy, "add_64ki": make_add}


def make(name):
    spin = problems.spin_of_name(name)
    return make_spin(*spin) if spin else MAKERS[name]()


def version(*packages):
    for package in packages:
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return "not found"


def describe():
    import torch
    return {"gpu": torch.cuda.get_device_name(), "python": platform.python_version(), "torch": torch.__version__,
            "cuda": torch.version.cuda, "cudnn": str(torch.backends.cudnn.version()), "triton": version("triton"),
            "cupy": version("cupy-cuda13x", "cupy-cuda12x", "cupy")}
