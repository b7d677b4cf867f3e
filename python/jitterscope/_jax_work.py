"""What a call of JAX returns: arrays that are computed on streams of JAX's own, behind the call."""

from __future__ import annotations

import sys
from typing import Any, Callable, Optional


def wait_for(returned: Any) -> Optional[Callable[[Any], object]]:
    """What waits for such arrays, where JAX is imported and `returned` holds any; else None."""
    jax = sys.modules.get("jax")
    kind, leaves = getattr(jax, "Array", None), getattr(getattr(jax, "tree_util", None), "tree_leaves", None)
    if kind is None or leaves is None or not any(isinstance(each, kind) for each in leaves(returned)):
        return None
    wait: Callable[[Any], object] = jax.block_until_ready  # type: ignore[union-attr]
    return wait


def gpu() -> Optional[int]:
    """The ordinal of the GPU that JAX uses, where it has begun to."""
    backends = getattr(sys.modules.get("jax._src.xla_bridge"), "_backends", None)
    jax = sys.modules.get("jax")
    if not backends or jax is None or jax.default_backend() != "gpu":
        return None
    return int(jax.devices()[0].id)
