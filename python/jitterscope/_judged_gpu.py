"""A chain of judged calls on a GPU: all of it is queued before the judge releases the key."""

from __future__ import annotations

import ctypes
from typing import Any

from ._judged_worker import _QUEUED, Chain, Input
from ._library import check, library


class GpuChain(Chain):
    """Fill, call and keep are kernels on PyTorch's current stream, behind one that waits for the key."""

    device = "cuda"

    def __init__(self, shared: Any) -> None:
        super().__init__(shared)
        self.chain = ctypes.c_void_p()
        self.own: list[Any] = []  # tensors over the inputs' memory that no candidate has seen
        self.kept: Any = None

    def add_input(self, index: int, given: Input) -> None:
        super().add_input(index, given)
        self.own.append(given.array.detach().view(-1))
        if not self.chain:
            mailbox = ctypes.addressof(ctypes.c_char.from_buffer(self.mailbox))
            check(library().jitterscope_judge_open_chain(mailbox, len(self.outputs), ctypes.byref(self.chain)))
        if not given.persistent:
            check(library().jitterscope_judge_add_input(self.chain, given.struct(given.family, index), given.array.data_ptr()))

    def queue(self, ticket: int, calls: int, is_null: bool) -> None:
        torch = self.arrays.torch  # type: ignore[attr-defined]
        arrays = [given.array for given in self.inputs]
        # Memory for what is kept is there before anything is held: asking for it could wait.
        longest = sum(self._bytes_of(result) for result in self.last)
        self._make_room(torch, calls, longest)
        check(library().jitterscope_judge_release(self.chain, torch.cuda.current_stream().cuda_stream, ticket))
        for call in range(calls):
            stream = torch.cuda.current_stream().cuda_stream
            check(library().jitterscope_judge_fill_all(self.chain, stream))
            if not is_null:
                self.last = self.results(arrays)
            parts = [result.detach().contiguous() for result in self.last]
            sizes = [self._bytes_of(part) for part in parts]
            if sum(sizes) > longest:
                raise ValueError("its outputs have other shapes from one call to the next")
            for part in parts:
                if part.device.type != self.device:
                    raise TypeError(f"an output is on {part.device}, and the inputs are on {self.device}")
            memories = (ctypes.c_void_p * len(parts))(*[part.data_ptr() for part in parts])
            check(library().jitterscope_judge_keep(
                self.chain, stream, memories, (ctypes.c_size_t * len(parts))(*sizes), len(parts),
                self.kept.data_ptr() + call * _slot(longest), ticket if call + 1 == calls else 0))
            self.mailbox[_QUEUED:_QUEUED + 4] = ((call + 1) & 0xffffffff).to_bytes(4, "little")

    def finish(self, ticket: int, calls: int, is_null: bool) -> None:
        """The GPU has told the judge, who reads the outputs when he has heard of this."""
        torch = self.arrays.torch  # type: ignore[attr-defined]
        torch.cuda.synchronize()
        size = sum(self._bytes_of(result) for result in self.last)
        if size == 0:
            return
        kept = self.kept[:calls * _slot(size)].view(calls, _slot(size))[:, :size]
        torch.frombuffer(self.outputs, dtype=torch.uint8, count=calls * size).view(calls, size).copy_(kept)

    def digest_of_inputs(self) -> bytes:
        whole = bytearray().join(self.arrays.storage(array) for array in self.own)
        return self.digest(self.key(), bytes(32), whole)

    @staticmethod
    def _bytes_of(tensor: Any) -> int:
        return int(tensor.numel() * tensor.element_size())

    def _make_room(self, torch: Any, calls: int, size: int) -> None:
        if calls * size > len(self.outputs):
            raise ValueError(f"its outputs have more than {len(self.outputs) >> 20} MiB")
        if self.kept is None or self.kept.numel() < calls * _slot(size):
            self.kept = None
            self.kept = torch.empty(max(64, calls * _slot(size)), dtype=torch.uint8, device=self.device)


def _slot(size: int) -> int:
    """Bytes from one call's outputs to the next one's: 64 divides them."""
    return -(-size // 64) * 64
