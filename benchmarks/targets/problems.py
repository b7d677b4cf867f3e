"""The operations of the targets: jitterscope's text of each, and the name that the peers know it by."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    name: str
    label: str
    operation: str


PROBLEMS = (
    Problem("gemm_512", "GEMM 512³ bf16", "matmul:m=512,n=512,k=512,dtype=bf16"),
    Problem("gemm_8192", "GEMM 8192³ bf16", "matmul:m=8192,n=8192,k=8192,dtype=bf16"),
    Problem("conv_3x3", "conv 3×3 64→64, 56², N 256, fp16 NHWC",
            "conv2d:n=256,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc,direction=fprop"),
    Problem("copy_1gib", "copy of 1 GiB", "copy:bytes=1Gi,kind=d2d"),
    Problem("add_64ki", "add of 64 Ki f32", "add:count=64Ki,dtype=f32"),
)
GEMM_8192 = PROBLEMS[1]

SPIN_THREADS = 32


def spin_name(nanoseconds, blocks):
    return f"spin_{nanoseconds}_{blocks}"


def spin_of_name(name):
    """(nanoseconds, blocks), or nothing where the name is another problem's."""
    if not name.startswith("spin_"):
        return None
    nanoseconds, blocks = name.removeprefix("spin_").split("_")
    return int(nanoseconds), int(blocks)


def spin_sweep(nanoseconds, blocks):
    """One operation text for all combinations."""
    return (f"spin:ns={','.join(map(str, nanoseconds))},blocks={','.join(map(str, blocks))},"
            f"threads={SPIN_THREADS}")
