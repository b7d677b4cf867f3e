"""The callables of measure_callables.py: each function makes one that launches on the current stream. The command line
times them as well: `jitterscope run python:benchmarks/python/callables.py:triton_add`."""

import ctypes
import functools
import os
import pathlib

import jitterscope as js

# name -> what the command line calls the same work; where it has no operation for it, the function of this file.
OPERATIONS = {
    "conv2d": "conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc",
    "matmul": "matmul:m=2048,n=2048,k=2048,dtype=f16",
    **{name: f"python:{pathlib.Path(__file__).resolve()}:{name}"
       for name in ("triton_add", "compiled_mlp", "cupy_add", "numba_add", "jax_add", "ctypes_fill")},
}


@js.benchmark
def conv2d():
    import torch
    options = {"device": "cuda", "dtype": torch.float16}
    image = torch.randn(32, 64, 56, 56, **options).to(memory_format=torch.channels_last)
    weight = torch.randn(64, 64, 3, 3, **options).to(memory_format=torch.channels_last)
    return lambda: torch.nn.functional.conv2d(image, weight, padding=1)


@js.benchmark
def matmul():
    import torch
    a, b = (torch.randn(2048, 2048, device="cuda", dtype=torch.float16) for _ in range(2))
    return lambda: a @ b


@functools.lru_cache(maxsize=None)
def add_kernel():
    import triton
    import triton.language as tl

    @triton.jit
    def add(x, y, out, count, BLOCK: tl.constexpr):
        place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        inside = place < count
        tl.store(out + place, tl.load(x + place, mask=inside) + tl.load(y + place, mask=inside), mask=inside)

    # A jitted function finds what its body names among its module's names.
    globals()["tl"] = tl
    return add


@js.benchmark
def triton_add():
    import torch
    count = 1 << 22
    x, y = (torch.randn(count, device="cuda") for _ in range(2))
    out = torch.empty_like(x)
    kernel = add_kernel()
    return lambda: kernel[(count // 1024,)](x, y, out, count, BLOCK=1024)


@js.benchmark
def compiled_mlp():
    import torch
    model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024))
    model = model.cuda().half().eval()
    x = torch.randn(512, 1024, device="cuda", dtype=torch.float16)
    compiled = torch.compile(model)

    def call():
        with torch.no_grad():
            return compiled(x)

    call()
    return call


@js.benchmark
def cupy_add():
    import cupy
    a, b = (cupy.random.standard_normal(1 << 24, dtype=cupy.float32) for _ in range(2))
    out = cupy.empty_like(a)
    return lambda: cupy.add(a, b, out=out)


@js.benchmark
def numba_add():
    import torch
    from numba import cuda

    @cuda.jit
    def add(x, y, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = x[i] + y[i]

    count, threads = 1 << 22, 256
    tensors = [torch.randn(count, device="cuda") for _ in range(3)]
    x, y, out = (cuda.as_cuda_array(tensor) for tensor in tensors)
    kernel = add[count // threads, threads, cuda.external_stream(js.stream("cuda:0").pointer)]
    return lambda: kernel(x, y, out)


@js.benchmark
def jax_add():
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # or it takes three quarters of the GPU's memory
    import jax
    import jax.numpy as jnp
    a, b = (jax.random.normal(jax.random.key(seed), (1 << 24,)) for seed in range(2))
    add = jax.jit(jnp.add)
    add(a, b).block_until_ready()
    return lambda: add(a, b)


@js.benchmark
def ctypes_fill():
    import torch
    cuda = ctypes.CDLL("libcuda.so.1")
    memory = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
    stream = js.stream("cuda:0").pointer

    def fill():
        cuda.cuMemsetD32Async(ctypes.c_uint64(memory.data_ptr()), ctypes.c_uint(1), ctypes.c_size_t(16 << 20),
                              ctypes.c_void_p(stream))

    return fill


def make(name):
    return globals()[name]()
