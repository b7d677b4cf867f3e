"""Returned objects that hold a call's work: refused if it is not done yet, waited for if it is JAX's."""

from __future__ import annotations

import collections.abc
import inspect
import itertools
import sys
import types
from typing import Any, Callable, Iterator, NamedTuple, Optional

from ._errors import UsageError

_MOST_PARTS = 1000  # of what a call returns; looked at once for each type


class _Kind(NamedTuple):
    """Objects that stand for work: of a class of a module, where a program has imported that."""

    module: str
    name: str
    is_done: Callable[[Any], bool]
    remedy: str


def _waited_for(how: str) -> str:
    return (f"wait for it in the timed function, as `lambda: f(){how}` does, or return nothing where the start alone is to be "
            "timed")


_AWAITED = "run it in the timed function, as `lambda: loop.run_until_complete(f())` does with `loop = asyncio.new_event_loop()`"
_USED_UP = "use it up in the timed function, as `lambda: list(f())` does"
# Modules are named as a program imports them: none is imported here.
_KINDS = (
    _Kind("concurrent.futures", "Future", lambda each: bool(each.done()), _waited_for(".result()")),
    _Kind("asyncio", "Future", lambda each: bool(each.done()), _AWAITED),
    _Kind("distributed", "Future", lambda each: bool(each.done()), _waited_for(".result()")),
    _Kind("multiprocessing.pool", "AsyncResult", lambda each: bool(each.ready()), _waited_for(".get()")),
    _Kind("multiprocessing.pool", "IMapIterator", lambda _: False, _USED_UP),
    _Kind("multiprocessing.process", "BaseProcess", lambda each: not each.is_alive(), _waited_for(".join()")),
    _Kind("threading", "Thread", lambda each: not each.is_alive(), _waited_for(".join()")),
    _Kind("subprocess", "Popen", lambda each: each.poll() is not None, _waited_for(".wait()")),
    _Kind("torch._C", "Future", lambda each: bool(each.done()), _waited_for(".wait()")),  # torch.futures.Future is one
    _Kind("torch._C._distributed_c10d", "Work", lambda each: bool(each.is_completed()), _waited_for(".wait()")),
    _Kind("polars", "LazyFrame", lambda _: False, _waited_for(".collect()")),
)
_CONTAINERS = (list, tuple, set, frozenset, dict)
_LAZY_ITERATORS = (map, filter, zip, enumerate) + tuple(
    each for each in vars(itertools).values() if isinstance(each, type) and issubclass(each, collections.abc.Iterator))


class _Unfinished(NamedTuple):
    """Words for an object whose work is not done."""

    what: str
    remedy: str


def _kind_of(returned: Any) -> Optional[_Kind]:
    for kind in _KINDS:
        known = getattr(sys.modules.get(kind.module), kind.name, None)
        if isinstance(known, type) and isinstance(returned, known):
            return kind
    return None


def _unfinished(returned: Any) -> Optional[_Unfinished]:
    if isinstance(returned, types.GeneratorType):
        is_begun = inspect.getgeneratorstate(returned) != inspect.GEN_CREATED
        return None if is_begun else _Unfinished("a generator", _USED_UP)
    if isinstance(returned, types.AsyncGeneratorType):
        return None if returned.ag_frame is None else _Unfinished(
            "an asynchronous generator", "use it up in the timed function, by `async for` in a coroutine that "
            "`loop.run_until_complete` runs")
    if isinstance(returned, collections.abc.Coroutine):
        is_done = isinstance(returned, types.CoroutineType) and returned.cr_frame is None
        return None if is_done else _Unfinished("a coroutine", _AWAITED)
    if isinstance(returned, _LAZY_ITERATORS):
        return _Unfinished(f"a lazy iterator ({type(returned).__name__})", _USED_UP)
    kind = _kind_of(returned)
    if kind is not None:
        return None if kind.is_done(returned) else _Unfinished(f"an object ({type(returned).__name__})", kind.remedy)
    if hasattr(type(returned), "__await__"):
        return _Unfinished(f"an awaitable ({type(returned).__name__})", _AWAITED)
    graph = getattr(type(returned), "__dask_graph__", None)  # dask's own way to say that a collection is lazy
    if callable(graph) and returned.__dask_graph__() is not None:
        return _Unfinished(f"a lazy {type(returned).__name__} of dask", _waited_for(".compute()"))
    return None


def _parts(returned: Any, depth: int = 2) -> Iterator[Any]:
    """The object, and what lists, tuples, sets and dicts of it hold."""
    yield returned
    if depth and isinstance(returned, _CONTAINERS):
        for each in itertools.islice(returned.values() if isinstance(returned, dict) else returned, _MOST_PARTS):
            yield from _parts(each, depth - 1)


def drop(returned: Any) -> None:
    """Lets go of what would warn that it was never awaited."""
    if isinstance(returned, collections.abc.Coroutine):
        returned.close()
        return
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or not isinstance(returned, asyncio.Task):
        return
    returned.cancel()
    loop = returned.get_loop()
    # If no loop runs here, none may ever finish what a cancelled task has left.
    if not loop.is_closed() and not loop.is_running() and asyncio._get_running_loop() is None:
        loop.run_until_complete(asyncio.wait([returned], timeout=1))


class ReturnedWork:
    """Looks at what the calls of one callable return: at each type once, and at what may be done or not each time."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.types_done: set[type] = set()  # whose objects hold no work
        self.wait: Optional[Callable[[Any], object]] = None  # for the arrays of JAX that it returns

    def look_at(self, returned: Any) -> None:
        """Raises UsageError where the work of the call is not done, and says what to do."""
        parts = list(itertools.islice(_parts(returned), _MOST_PARTS))
        found = [each for each in map(_unfinished, parts) if each is not None]
        if found:
            for part in parts:
                drop(part)
            raise UsageError(f"{self.name} returns {found[0].what} whose work is not done when the call ends: "
                             f"{found[0].remedy}")
        if self.wait is None:
            self.wait = _wait_for_jax(returned)
        is_empty = isinstance(returned, _CONTAINERS) and not returned
        if not is_empty and all(_kind_of(part) is None and not _may_hold_work(part) for part in parts):
            self.types_done.add(type(returned))


def _may_hold_work(part: Any) -> bool:
    """A generator or a coroutine: this one is done, the next one need not be."""
    return isinstance(part, (types.GeneratorType, types.AsyncGeneratorType, collections.abc.Coroutine))


def _wait_for_jax(returned: Any) -> Optional[Callable[[Any], object]]:
    """A function that waits for the arrays of JAX in `returned`, computed on streams of its own behind the call, or None."""
    jax = sys.modules.get("jax")
    kind, leaves = getattr(jax, "Array", None), getattr(getattr(jax, "tree_util", None), "tree_leaves", None)
    if kind is None or leaves is None or not any(isinstance(each, kind) for each in leaves(returned)):
        return None
    wait: Callable[[Any], object] = jax.block_until_ready  # type: ignore[union-attr]
    return wait
