"""A reference or a candidate that the judge runs: it answers on descriptor 0 and keeps its outputs in descriptor 3, behind
which is a page where both meet.

Nothing in this process is trusted once it has loaded a candidate's file: the judge, another process, reads its own clock
and derives seeds, digests and inputs anew from what was kept (src/judge).
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import importlib.util
import json
import math
import mmap
import socket
import sys
from typing import Any, Callable, NamedTuple, Optional

from . import _judged_forms
from ._library import JudgedInputStruct, check, library

_FORMATS = {"f64": "d", "f32": "f", "f16": "e", "i64": "q", "i32": "i"}  # of memoryviews
_NUMPY = {"f64": "float64", "f32": "float32", "f16": "float16", "i64": "int64", "i32": "int32"}
_TORCH = {**_NUMPY, "bf16": "bfloat16"}
_SIZES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i32": 4}
_MEMORY, _LONGEST = 3, 64 * 1024
_PAGE, _KEY, _DONE, _DIGEST, _QUEUED = 4096, 4, 64, 68, 128  # the mailbox and its fields (src/device/judged_arithmetic.hpp)


class Arrays:
    """Arrays without a library: memoryviews. `view` is as code sees memory, `storage` the bytes of what code returns."""

    def view(self, memory: bytearray, dtype: str, shape: list[int]) -> Any:
        if dtype not in _FORMATS:
            raise ValueError(f"{dtype} needs PyTorch: import torch in the reference's file")
        flat: Any = memoryview(memory)
        flat = flat.cast(_FORMATS[dtype])
        return flat if len(shape) == 1 else flat.cast("B").cast(_FORMATS[dtype], shape)

    def as_float64(self, array: Any) -> Any:
        flat = memoryview(array).cast("B").cast(array.format)
        widened: Any = memoryview(bytearray(8 * len(flat))).cast("d")
        for place, value in enumerate(flat):
            widened[place] = float(value)
        return widened if len(array.shape) == 1 else widened.cast("B").cast("d", list(array.shape))

    def strided(self, array: Any) -> Any:
        """The same values in memory that has others between them; memoryviews of one dimension have such views."""
        if array.ndim != 1:
            return array
        spread = memoryview(bytearray(2 * array.nbytes)).cast(array.format)
        for place in range(len(array)):
            spread[2 * place] = array[place]
        return spread[::2]

    def storage(self, result: Any) -> memoryview:
        view = memoryview(result)
        return view.cast("B") if view.c_contiguous else memoryview(view.tobytes())

    def describe(self, result: Any) -> dict[str, Any]:
        view: Any = memoryview(result)
        known = {**{value: key for key, value in _FORMATS.items()}, "l": "i64"}
        if view.format not in known:
            raise TypeError(f"an output has elements of the format {view.format!r}")
        return {"dtype": known[view.format], "shape": list(view.shape)}


class NumpyArrays(Arrays):
    def __init__(self) -> None:
        self.numpy = importlib.import_module("numpy")

    def view(self, memory: bytearray, dtype: str, shape: list[int]) -> Any:
        if dtype not in _NUMPY:
            raise ValueError(f"{dtype} needs PyTorch: import torch in the reference's file")
        return self.numpy.frombuffer(memory, dtype=_NUMPY[dtype]).reshape(shape)

    def as_float64(self, array: Any) -> Any:
        return array.astype("float64") if array.dtype.kind == "f" else array

    def strided(self, array: Any) -> Any:
        spread = self.numpy.zeros((*array.shape[:-1], 2 * array.shape[-1]) if array.ndim else (), array.dtype)
        if not array.ndim:
            return array
        spread[..., ::2] = array
        return spread[..., ::2]

    def storage(self, result: Any) -> memoryview:
        return memoryview(self.numpy.ascontiguousarray(result).reshape(-1)).cast("B")

    def describe(self, result: Any) -> dict[str, Any]:
        array = self.numpy.asarray(result)
        known = {value: key for key, value in _NUMPY.items()}
        if str(array.dtype) not in known:
            raise TypeError(f"an output is of {array.dtype}")
        return {"dtype": known[str(array.dtype)], "shape": list(array.shape)}


class TorchArrays(Arrays):
    """Tensors in the memory of the processor or of a GPU."""

    def __init__(self, device: str = "cpu") -> None:
        self.torch = importlib.import_module("torch")
        self.device = device

    def view(self, memory: bytearray, dtype: str, shape: list[int]) -> Any:
        return self.torch.frombuffer(memory, dtype=getattr(self.torch, _TORCH[dtype])).reshape(shape).to(self.device)

    def as_float64(self, array: Any) -> Any:
        return array.double() if array.is_floating_point() else array

    def strided(self, array: Any) -> Any:
        if not array.dim():
            return array
        spread = self.torch.zeros((*array.shape[:-1], 2 * array.shape[-1]), dtype=array.dtype, device=array.device)
        spread[..., ::2] = array
        return spread[..., ::2]

    def storage(self, result: Any) -> memoryview:
        flat = result.detach().contiguous().reshape(-1)
        return memoryview(flat.view(self.torch.uint8).cpu().numpy()).cast("B")

    def describe(self, result: Any) -> dict[str, Any]:
        known = {value: key for key, value in _TORCH.items()}
        word = str(result.dtype).replace("torch.", "")
        if word not in known:
            raise TypeError(f"an output is of {result.dtype}")
        if result.device.type != self.device:
            raise TypeError(f"an output is on {result.device}, and the inputs are on {self.device}")
        return {"dtype": known[word], "shape": list(result.shape)}


def _arrays_of_reference(device: str) -> Arrays:
    """As its file uses: PyTorch's, else NumPy's where that is installed, else plain memory."""
    if "torch" in sys.modules:
        return TorchArrays(device)
    if device != "cpu":
        raise ValueError("a GPU is judged through PyTorch, which the reference's file does not import; --device cpu judges it on "
                         "the processor")
    return NumpyArrays() if importlib.util.find_spec("numpy") is not None else Arrays()


class Input(NamedTuple):
    dtype: str
    shape: list[int]
    family: str
    persistent: bool
    below: int
    scale: float
    memory: bytearray
    array: Any

    def struct(self, family: str, index: int) -> JudgedInputStruct:
        shape = (ctypes.c_int64 * len(self.shape))(*self.shape)
        return JudgedInputStruct(self.dtype.encode(), family.encode(), shape, len(self.shape), self.below, self.scale, index)

    def fill(self, family: str, seed: bytes, index: int) -> None:
        memory = (ctypes.c_char * len(self.memory)).from_buffer(self.memory)
        check(library().jitterscope_judge_fill(self.struct(family, index), seed, memory, len(self.memory)))


def _first_digest(key: bytes) -> bytes:
    digest = ctypes.create_string_buffer(32)
    check(library().jitterscope_judge_first_digest(key, digest))
    return digest.raw


def _described(inputs: Any) -> list[dict[str, Any]]:
    """The inputs that a reference's make() gives beside its function: for each input a shape, or {"shape": …, "dtype": "f32",
    "family": "normal", "persistent": False, "below": 256, "scale": 1.0}."""
    described = []
    for each in inputs:
        given = dict(each) if isinstance(each, dict) else {"shape": each}
        unknown = set(given) - {"shape", "dtype", "family", "persistent", "below", "scale"}
        if unknown:
            raise ValueError(f"an input has no {min(unknown)}; it has shape, dtype, family, persistent, below, scale")
        shape = given["shape"]
        given["shape"] = [int(extent) for extent in (shape if isinstance(shape, (list, tuple)) else [shape])]
        described.append({"dtype": "f32", "family": "normal", "persistent": False, "below": 256, "scale": 1.0, **given})
    return described


class Chain:
    """The four parts of a chain: fill, call, digest, keep. GpuChain (_judged_gpu.py) has the same four."""

    device = "cpu"

    def __init__(self, shared: mmap.mmap) -> None:
        whole = memoryview(shared)
        self.outputs, self.mailbox = whole[:-_PAGE], whole[-_PAGE:]
        self.arrays = Arrays()
        self.module: Any = None
        self.made = _judged_forms.Made(tuple, tuple)
        self.inputs: list[Input] = []
        self.last: Any = ()
        self.evictor = bytearray()
        self.evicted = 0  # bytes that are read between a call's inputs and the call
        self.kept_before = self.kept_in_all = 0  # calls whose outputs lie before those of a chain, and all that have room

    def prepare(self, target: str, _case: dict[str, str]) -> None:
        """Loads the reference's file before anybody waits."""
        _judged_forms.form_of_reference(target)
        self.module = _judged_forms.load_reference(target)

    def make(self, target: str, case: dict[str, str], call: Optional[str], persistent: bytes) -> dict[str, Any]:
        """Makes the reference, which comes first and says what the inputs are and how it is called; or, given that, a
        candidate, which takes its place."""
        seed = int.from_bytes(hashlib.blake2b(b"weights", key=persistent, digest_size=8).digest(), "little")
        if call is not None:
            self.made = self.make_candidate(target, case, json.loads(call), seed)
            return {"weights_differ": self.made.weights_differ[:200]}
        if self.module is None:
            self.prepare(target, case)
        self.made = _judged_forms.make_reference(self.module, target, case, seed, self.device)
        self.arrays = _arrays_of_reference(self.device)
        seed_of_persistent = hashlib.blake2s(b"persistent", key=persistent, digest_size=32).digest()
        described = _described(self.made.inputs)
        for index, each in enumerate(described):
            given = Input(memory=bytearray(math.prod(each["shape"]) * _SIZES[each["dtype"]]), array=None, **each)
            if given.persistent:
                given.fill(given.family, seed_of_persistent, index)
            self.add_input(index, given._replace(array=self.arrays.view(given.memory, given.dtype, given.shape)))
        return {"inputs": described, "gpu": self.device != "cpu", "call": json.dumps(self.made.call),
                **({"work": self.made.work} if self.made.work else {})}

    def make_candidate(self, target: str, case: dict[str, str], call: dict[str, Any], seed: int) -> _judged_forms.Made:
        if target.startswith("cuda:"):
            raise ValueError("a kernel of a CUDA file is judged on a GPU: its reference imports torch")
        return _judged_forms.make_candidate(target, case, call, seed, self.device)

    def add_input(self, _: int, given: Input) -> None:
        self.inputs.append(given)

    def fill(self, seed: bytes) -> None:
        for index, given in enumerate(self.inputs):
            if not given.persistent:
                given.fill(given.family, seed, index)

    def evict(self) -> None:
        if len(self.evictor) != self.evicted:
            self.evictor = bytearray(self.evicted)
        ctypes.memset((ctypes.c_char * self.evicted).from_buffer(self.evictor), 0, self.evicted)

    def results(self, arrays: list[Any], is_float64: bool = False) -> tuple[Any, ...]:
        result = (self.made.exact if is_float64 else self.made.function)(*arrays)
        return tuple(result) if isinstance(result, (list, tuple)) else (result,)

    def digest(self, key: bytes, before: bytes, kept: Any) -> bytes:
        """The array over writable bytes: a kept output, or an input's memory."""
        digest = ctypes.create_string_buffer(32)
        memory = (ctypes.c_char * len(kept)).from_buffer(kept) if len(kept) else None
        check(library().jitterscope_judge_digest(key, before, memory, len(kept), digest))
        return digest.raw

    def keep(self, place: int, parts: list[memoryview]) -> int:
        for part in parts:
            if place + len(part) > len(self.outputs):
                raise ValueError(f"its outputs have more than {len(self.outputs) >> 20} MiB")
            self.outputs[place:place + len(part)] = part
            place += len(part)
        return place

    def move(self, place: int) -> None:
        """Takes another place for inputs and outputs, where that matters."""

    def queue(self, _ticket: int, _calls: int, _is_null: bool) -> None:
        """Does what can be done before the key is known."""

    def run(self, key: bytes, calls: int, is_null: bool) -> bytes:
        digest = _first_digest(key)
        place = self.kept_before * sum(len(self.arrays.storage(result)) for result in self.last)
        arrays = [given.array for given in self.inputs]
        for _ in range(calls):
            self.fill(digest)  # a call's seed is the digest before it
            if self.evicted:
                self.evict()
            if not is_null:
                self.last = self.results(arrays)
            end = self.keep(place, [self.arrays.storage(result) for result in self.last])
            digest = self.digest(key, digest, self.outputs[place:end])
            place = end
        return digest

    def key(self) -> bytes:
        return bytes(self.mailbox[_KEY:_KEY + 32])

    def finish(self, ticket: int, calls: int, is_null: bool) -> None:
        """Ends the chain, and says so in the mailbox."""
        self.mailbox[_DIGEST:_DIGEST + 32] = self.run(self.key(), calls, is_null)
        self.mailbox[_DONE:_DONE + 4] = ticket.to_bytes(4, "little")

    def show(self, calls: int) -> None:
        """Puts what was kept of so many calls where the judge sees it."""

    def digest_of_inputs(self) -> bytes:
        return self.digest(self.key(), bytes(32), bytearray().join(given.memory for given in self.inputs))

    def answer(self, seeds: list[str], families: list[str], with_float64: bool, is_strided: bool) -> dict[str, Any]:
        """Descriptions of outputs, which lie one after the other; with those of the same values in arrays of float64."""
        arrays = []
        for index, (given, seed, family) in enumerate(zip(self.inputs, seeds, families)):
            array = given.array
            if not given.persistent:  # else always the same array: what was packed from it stays right
                own = given._replace(memory=bytearray(len(given.memory)))
                own.fill(family, bytes.fromhex(seed), index)
                array = self.arrays.view(own.memory, given.dtype, given.shape)
                array = self.arrays.strided(array) if is_strided else array
            arrays.append(array)
        exact = [self.arrays.as_float64(array) for array in arrays] if with_float64 else []
        self.last = self.results(arrays)
        end = self.keep(0, [self.arrays.storage(result) for result in self.last])
        told = {"outputs": [self.arrays.describe(result) for result in self.last]}
        if with_float64:
            results = self.results(exact, True)
            self.keep(end, [self.arrays.storage(result) for result in results])
            told["of_float64"] = [self.arrays.describe(result) for result in results]
        return told


def _serve(judge: socket.socket, chain: Chain) -> None:
    def tell(message: dict[str, Any]) -> None:
        judge.send(json.dumps(message).encode())

    while True:
        text = judge.recv(_LONGEST)
        if not text:
            return
        asked = json.loads(text)
        if asked["do"] == "describe":
            form = _judged_forms.form_of_reference(asked["target"]).form
            cases = _judged_forms.cases_of_task(asked["target"]) if form == "kernelbot" else []
            tell({"form": form, "cases": cases, "torch": _judged_forms.imports_torch(asked["target"])})
        elif asked["do"] == "prepare":
            chain.prepare(asked["target"], asked["case"])
            tell({})
        elif asked["do"] == "make":
            tell(chain.make(asked["target"], asked["case"], asked.get("call"), bytes.fromhex(asked["persistent"])))
        elif asked["do"] == "chain":
            of_chain = (asked["ticket"], asked["calls"], asked["null"])
            chain.move(asked["place"])
            chain.evicted = asked["evicted"]
            chain.kept_before, chain.kept_in_all = asked["kept_before"], asked["kept_in_all"]
            chain.queue(*of_chain)
            if asked["held"]:
                tell({"queued": True})
                judge.recv(_LONGEST)  # the judge has released the key
            chain.finish(*of_chain)
            tell({"done": True})  # the judge's clock stops here, if it has not seen the mailbox before
        elif asked["do"] == "show":
            chain.show(asked["calls"])
            tell({"inputs": chain.digest_of_inputs().hex()})
        else:
            tell(chain.answer(asked["seeds"], asked["families"], asked["float64"], asked["strided"]))


def _chain_on(device: str, shared: mmap.mmap) -> Chain:
    if device == "cpu":
        return Chain(shared)
    from ._judged_gpu import GpuChain  # pylint: disable=import-outside-toplevel,cyclic-import
    return GpuChain(shared)


def main(device: str) -> int:
    """`python3 -m jitterscope judged-worker cpu|cuda`, which the judge starts."""
    judge = socket.socket(fileno=0)
    try:
        _serve(judge, _chain_on(device, mmap.mmap(_MEMORY, 0)))
    except Exception as error:  # pylint: disable=broad-except
        said = " ".join(str(error).split())
        sentence = f"{type(error).__name__}: {said}" if said else type(error).__name__
        try:
            judge.send(json.dumps({"error": sentence[:2000]}).encode())
        except OSError:
            return 1
    return 0
