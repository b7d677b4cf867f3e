"""A chain of judged calls on a GPU: all of it is queued before the judge releases the key."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
from typing import Any, Iterable, NamedTuple

from . import _judged_forms
from ._judged_worker import _QUEUED, _TORCH, Chain, Input, TorchArrays, _described
from ._judged_kernel import kernel_as_function
from ._library import check, library

_MOST_PLACES, _MOST_BYTES = 16, 1 << 30  # of inputs, and of what moves outputs


class Place(NamedTuple):
    """The places of inputs in memory."""
    arrays: list[Any]  # which the function is called with
    own: list[Any]  # over the same memory, and no candidate has seen them
    drawn: Any  # addresses of those that each call has anew


class GpuChain(Chain):
    """Fill, call and keep are kernels on PyTorch's current stream, behind one that waits for the key. Where data lie makes a
    kernel faster or slower by some percent, so that each of the judge's blocks has a place of its own."""

    device = "cuda"

    def __init__(self, shared: Any) -> None:
        super().__init__(shared)
        self.chain = ctypes.c_void_p()
        self.places: list[Place] = []
        self.place = 0
        self.spacers: list[Any] = []
        self.kept: Any = None
        self.synchronize: Any = None
        self.current_stream: Any = None

    def prepare(self, target: str, case: dict[str, str]) -> None:
        """Makes the context, too, and calls the reference once: what is loaded for that takes a second."""
        super().prepare(target, case)
        torch = importlib.import_module("torch")
        some = torch.ones((16, 16), device=self.device)
        (some @ some).cpu()
        with contextlib.suppress(Exception):  # the judge asks again, and is told
            made = _judged_forms.make_reference(self.module, target, case, 0, self.device)
            arrays = [torch.zeros(each["shape"], dtype=getattr(torch, _TORCH[each["dtype"]]), device=self.device)
                      for each in _described(made.inputs)]
            made.function(*arrays)
            made.exact(*map(TorchArrays(self.device).as_float64, arrays))
            torch.cuda.synchronize()
        torch.cuda.empty_cache()

    def add_input(self, index: int, given: Input) -> None:
        super().add_input(index, given)
        if not self.chain:
            # Before a candidate's file can put others in their place.
            self.synchronize, self.current_stream = self._torch().cuda.synchronize, self._torch().cuda.current_stream
            mailbox = ctypes.addressof(ctypes.c_char.from_buffer(self.mailbox))
            check(library().jitterscope_judge_open_chain(mailbox, len(self.outputs), ctypes.byref(self.chain)))
        if not given.persistent:
            check(library().jitterscope_judge_add_input(self.chain, given.struct(given.family, index)))

    def make_candidate(self, target: str, case: dict[str, str], call: dict[str, Any], seed: int) -> _judged_forms.Made:
        if not target.startswith("cuda:"):
            return super().make_candidate(target, case, call, seed)
        function = kernel_as_function(target, case, [list(each.shape) for each in self.last])
        return _judged_forms.Made(function, function)

    def move(self, place: int) -> None:
        size = _bytes_of(each.array for each in self.inputs if not each.persistent)
        self.place = place % max(1, min(_MOST_PLACES, _MOST_BYTES // max(1, size)))
        while len(self.places) <= self.place:
            is_first = not self.places
            arrays = [each.array if each.persistent or is_first else each.array.clone() for each in self.inputs]
            drawn = [array.data_ptr() for each, array in zip(self.inputs, arrays) if not each.persistent]
            self.places.append(Place(arrays, [each.detach().view(-1) for each in arrays],
                                     (ctypes.c_void_p * len(drawn))(*drawn)))
        # Memory of some outputs is taken, so that those of the calls lie elsewhere.
        size = _bytes_of(self.last)
        self.spacers = []
        if self.place * size <= _MOST_BYTES:
            self.spacers = [result.detach().clone() for _ in range(self.place) for result in self.last]

    def queue(self, ticket: int, calls: int, is_null: bool) -> None:
        # All memory is there before anything is held: asking for it could wait.
        longest = _bytes_of(self.last)
        self._make_room(max(self.kept_before + calls, self.kept_in_all), longest)
        place = self.places[self.place]
        check(library().jitterscope_judge_release(self.chain, self.current_stream().cuda_stream, ticket))
        for call in range(calls):
            stream = self.current_stream().cuda_stream
            check(library().jitterscope_judge_fill_all(self.chain, stream, place.drawn))
            if self.evicted:
                check(library().jitterscope_judge_evict(self.chain, stream, self.evicted))
            if not is_null:
                self.last = self.results(place.arrays)
            parts = [result.detach().contiguous() for result in self.last]
            sizes = [_bytes_of([part]) for part in parts]
            if sum(sizes) > longest:
                raise ValueError("its outputs have other shapes from one call to the next")
            for part in parts:
                if part.device.type != self.device:
                    raise TypeError(f"an output is on {part.device}, and the inputs are on {self.device}")
            memories = (ctypes.c_void_p * len(parts))(*[part.data_ptr() for part in parts])
            check(library().jitterscope_judge_keep(
                self.chain, stream, memories, (ctypes.c_size_t * len(parts))(*sizes), len(parts),
                self.kept.data_ptr() + (self.kept_before + call) * _slot(longest), ticket if call + 1 == calls else 0))
            self.mailbox[_QUEUED:_QUEUED + 4] = ((call + 1) & 0xffffffff).to_bytes(4, "little")

    def finish(self, ticket: int, calls: int, is_null: bool) -> None:
        """The GPU has told the judge."""
        self.synchronize()

    def show(self, calls: int) -> None:
        torch = self._torch()
        size = _bytes_of(self.last)
        if size == 0:
            return
        kept = self.kept[:calls * _slot(size)].view(calls, _slot(size))[:, :size]
        torch.frombuffer(self.outputs, dtype=torch.uint8, count=calls * size).view(calls, size).copy_(kept)

    def digest_of_inputs(self) -> bytes:
        whole = bytearray().join(self.arrays.storage(array) for array in self.places[self.place].own)
        return self.digest(self.key(), bytes(32), whole)

    def _torch(self) -> Any:
        return self.arrays.torch  # type: ignore[attr-defined]

    def _make_room(self, calls: int, size: int) -> None:
        if calls * size > len(self.outputs):
            raise ValueError(f"its outputs have more than {len(self.outputs) >> 20} MiB")
        if self.kept is None or self.kept.numel() < calls * _slot(size):
            torch = self._torch()
            self.kept = None
            self.kept = torch.empty(max(64, calls * _slot(size)), dtype=torch.uint8, device=self.device)


def _bytes_of(tensors: Iterable[Any]) -> int:
    return sum(int(each.numel() * each.element_size()) for each in tensors)


def _slot(size: int) -> int:
    """Bytes from one call's outputs to the next one's: 64 divides them."""
    return -(-size // 64) * 64
