"""@js.benchmark: a function that makes what is timed, for each combination of its parameters."""

from __future__ import annotations

import functools
import itertools
from typing import Any, Callable, Iterable, Iterator, NamedTuple, Optional, Union, overload

from ._device import open_device
from ._errors import UsageError
from ._live_line import LiveLine
from ._measure import measure_record
from ._options import options_json
from ._returned_work import drop
from ._times import Times

Maker = Callable[..., Callable[[], Any]]


class Case(NamedTuple):
    """One combination of parameters: its name, and what makes the callable."""

    name: str
    make: Callable[[], Callable[[], Any]]
    parameters: dict[str, Union[int, str]] = {}  # with the benchmark's own name, as the record has them

    @property
    def benchmark(self) -> str:
        """Its name without parameters."""
        return self.name.partition("(")[0]

    @property
    def in_brackets(self) -> str:
        """Its parameters as a target has them: "[n=512]"; empty of one that has none."""
        inner = self.name.partition("(")[2][:-1]
        return f"[{inner}]" if inner else ""


def _checked(name: str, made: Any) -> Callable[[], Any]:
    if not callable(made):
        drop(made)
        raise UsageError(f"{name} returned {type(made).__name__} and nothing to call: a benchmark sets up what it needs "
                         "and returns what is to be timed, as in `return lambda: f(x)`")
    function: Callable[[], Any] = made
    return function


class Benchmark:
    """A decorated function. Called, it does what it did before."""

    def __init__(self, maker: Maker, parameters: dict[str, list[Any]]) -> None:
        functools.update_wrapper(self, maker)
        self.maker = maker
        self.parameters = parameters

    def __call__(self, *arguments: Any, **named: Any) -> Callable[[], Any]:
        return self.maker(*arguments, **named)

    def cases(self) -> Iterator[Case]:
        """All combinations, the last parameter changing fastest."""
        name = str(getattr(self.maker, "__name__", "benchmark"))
        for values in itertools.product(*self.parameters.values()):
            chosen = dict(zip(self.parameters, values))
            inner = ",".join(f"{key}={value}" for key, value in chosen.items())
            full = f"{name}({inner})" if chosen else name
            yield Case(full, lambda full=full, chosen=chosen: _checked(full, self.maker(**chosen)),  # type: ignore[misc]
                       _recorded({"benchmark": name, **chosen}) if chosen else {})

    def measure(self, *, device: Optional[str] = None, **conditions: Any) -> Times:
        """Times of all combinations; conditions as of js.measure."""
        opened = open_device(device)
        asked = options_json(**conditions)
        whole: dict[str, Any] = {}
        for case in self.cases():
            function = case.make()
            with LiveLine(case.name) as live:
                record = measure_record([(case.name, function)], opened, asked, progress=live.tell,
                                        command_line=f"js.measure of {self.maker.__name__}")
            add_parameters(record, [case])
            add_results(whole, record)
        if not whole:
            raise UsageError(f"{self.maker.__name__}: a parameter has no values, so there is nothing to time")
        whole["title"] = self.maker.__name__
        return Times(whole)


def _recorded(chosen: dict[str, Any]) -> dict[str, Union[int, str]]:
    return {key: value if isinstance(value, int) and not isinstance(value, bool) else str(value)
            for key, value in chosen.items()}


def add_parameters(record: dict[str, Any], cases: list[Case]) -> None:
    """Says in each result which case it is of, so that a sweep can be drawn."""
    for result, case in zip(record["results"], cases):
        result["parameters"] = case.parameters


def add_results(whole: dict[str, Any], record: dict[str, Any]) -> None:
    """Puts a record's results behind those that are there; the first record has the rest."""
    if not whole:
        whole.update(record)
        return
    whole["results"] += record["results"]
    whole["summary"] = whole.get("summary", []) + record.get("summary", [])
    for key in ("notes", "findings"):
        whole[key] = whole.get(key, []) + [each for each in record.get(key, []) if each not in whole.get(key, [])]
    whole["interrupted"] = whole.get("interrupted", False) or record.get("interrupted", False)


def _values(name: str, values: Any) -> list[Any]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise UsageError(f"benchmark: {name} takes a list of values, as {name}=[{values!r}]")
    return list(values)


@overload
def benchmark(maker: Maker, /) -> Benchmark: ...
@overload
def benchmark(**parameters: Iterable[Any]) -> Callable[[Maker], Benchmark]: ...


def benchmark(maker: Optional[Maker] = None, /,
              **parameters: Iterable[Any]) -> Union[Benchmark, Callable[[Maker], Benchmark]]:
    """Marks a function that sets up what it needs and returns what is to be timed.

    >>> @js.benchmark(n=[256, 512, 1024])
    ... def attention(n):
    ...     q = make(n)             # set up, not timed
    ...     return lambda: f(q)     # timed

    `jitterscope run python:bench.py` times all of a file, `python:bench.py:attention` this one,
    `python:bench.py:attention[n=512]` one case of it, and
    `attention.measure()` does it here. Several parameters give all combinations.
    """
    if maker is not None:
        if not callable(maker):
            raise UsageError(f"benchmark marks a function, as `@js.benchmark` or `@js.benchmark(n=[256, 512])`, and not {maker!r}")
        return Benchmark(maker, {})
    values = {name: _values(name, given) for name, given in parameters.items()}
    return lambda decorated: Benchmark(decorated, values)
