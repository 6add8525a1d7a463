"""Sums of a tensor along its axes, and the way back: all that the relations of a full table are."""

from __future__ import annotations

from statveil.solve.tensors import Tensor, Tensors


def with_margins(on: Tensors, inner: Tensor) -> Tensor:
    """The tensor with all its totals, the last place on each axis."""
    for axis in range(inner.ndim):
        inner = on.join([inner, inner.sum(axis=axis, keepdims=True)], axis)
    return inner


def folded(full: Tensor) -> Tensor:
    """For every inner cell the sum over itself and all totals it is in: the adjoint of `with_margins`."""
    for axis in range(full.ndim):
        size = full.shape[axis] - 1
        ahead = (slice(None),) * axis
        full = full[(*ahead, slice(0, size))] + full[(*ahead, slice(size, size + 1))]
    return full


def inner_part(full: Tensor) -> Tensor:
    """The inner cells of a tensor with margins: a view."""
    return full[tuple(slice(0, size - 1) for size in full.shape)]
