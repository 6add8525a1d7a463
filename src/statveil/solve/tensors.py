"""Adapter to PyTorch: the only module that names it. NumPy stands in where it is not installed or has no GPU to offer.

Both spell most operations alike, which the callers use directly on the arrays (`+`, indexing, `sum(axis=...)`) and through `lib`;
what they spell differently has a method here. Steps that are repeated often can be recorded once: on a GPU the many small
operations of a step then start as one.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Literal

import numpy as np

from statveil.core.arrays import AnyArray
from statveil.core.errors import InputError
from statveil.core.limits import known

Where = Literal["auto", "cpu", "gpu", "torch-cpu"]
Tensor = Any
PLACES = ("auto", "cpu", "gpu", "torch-cpu")


@cache
def has_torch() -> bool:
    """Whether PyTorch is installed; it is not loaded to see that."""
    return importlib.util.find_spec("torch") is not None


@cache
def has_gpu() -> bool:
    """Whether PyTorch is installed and sees a GPU."""
    if not has_torch():
        return False
    import torch

    return bool(torch.cuda.is_available())


def tensors_on(where: str, seed: int) -> Tensors:
    """The library that computes there: `auto` takes a GPU if there is one, else NumPy. `torch-cpu` is for comparisons."""
    known("place to compute", where, PLACES)
    if where == "cpu" or (where == "auto" and not has_gpu()):
        return Tensors(seed)
    if where == "gpu" and not has_gpu():
        raise InputError("No GPU is seen.", hint="Install statveil[gpu] on a machine that has one, or compute on the 'cpu'.")
    if not has_torch():
        raise InputError("PyTorch is not installed.", hint="Install statveil[gpu].")
    return _TorchTensors(seed, "cpu" if where == "torch-cpu" else "cuda")


class Tensors:
    """NumPy. Kinds of arrays are `float` (32 bits: what is computed with them is worked out anew in whole numbers), `int` and `bool`."""

    name = "numpy"
    lib: Any = np

    def __init__(self, seed: int) -> None:
        self._rng = np.random.Generator(np.random.PCG64(seed))
        self.kinds: dict[str, Any] = {"float": np.float32, "double": np.float64, "int": np.int64, "bool": np.bool_}

    def put(self, array: AnyArray, kind: str) -> Tensor:
        """A copy of an array, where it is computed with."""
        return np.array(array, dtype=self.kinds[kind])

    def fetch(self, tensor: Tensor) -> AnyArray:
        """A copy as NumPy's."""
        return np.array(tensor)

    def zeros(self, shape: Sequence[int], kind: str = "float") -> Tensor:
        return np.zeros(tuple(shape), dtype=self.kinds[kind])

    def cast(self, tensor: Tensor, kind: str) -> Tensor:
        return tensor.astype(self.kinds[kind])

    def join(self, tensors: Sequence[Tensor], axis: int) -> Tensor:
        return np.concatenate(list(tensors), axis=axis)

    def most(self, tensor: Tensor, axis: int) -> Tensor:
        """The largest along an axis, which stays."""
        return np.max(tensor, axis=axis, keepdims=True)

    def total(self, tensor: Tensor) -> float:
        """The sum, in doubles."""
        return float(tensor.sum(dtype=np.float64))

    def random(self, shape: Sequence[int]) -> Tensor:
        """Uniform between 0 and 1."""
        return self._rng.random(tuple(shape), dtype=np.float32)

    def recorded(self, step: Callable[[], None]) -> Callable[[], None]:
        """The step to be called often. It must change tensors in place and nothing else."""
        return step

    def finish(self) -> None:
        """Wait until all that was begun is done."""


class _TorchTensors(Tensors):
    name = "torch"

    def __init__(self, seed: int, device: str) -> None:
        import torch

        self.lib, self._device = torch, torch.device(device)
        self.kinds = {"float": torch.float32, "double": torch.float64, "int": torch.int64, "bool": torch.bool}
        self._luck = torch.Generator(device=self._device)
        self._luck.manual_seed(seed)

    def put(self, array: AnyArray, kind: str) -> Tensor:
        return self.lib.tensor(np.ascontiguousarray(array), dtype=self.kinds[kind], device=self._device)

    def fetch(self, tensor: Tensor) -> AnyArray:
        return np.array(tensor.cpu().numpy())

    def zeros(self, shape: Sequence[int], kind: str = "float") -> Tensor:
        return self.lib.zeros(tuple(shape), dtype=self.kinds[kind], device=self._device)

    def cast(self, tensor: Tensor, kind: str) -> Tensor:
        return tensor.to(self.kinds[kind])

    def join(self, tensors: Sequence[Tensor], axis: int) -> Tensor:
        return self.lib.cat(list(tensors), dim=axis)

    def most(self, tensor: Tensor, axis: int) -> Tensor:
        return tensor.amax(dim=axis, keepdim=True)

    def total(self, tensor: Tensor) -> float:
        return float(tensor.sum(dtype=self.lib.float64))

    def random(self, shape: Sequence[int]) -> Tensor:
        return self.lib.rand(tuple(shape), generator=self._luck, device=self._device)

    def recorded(self, step: Callable[[], None]) -> Callable[[], None]:
        if self._device.type != "cuda":
            return step
        side = self.lib.cuda.Stream()
        side.wait_stream(self.lib.cuda.current_stream())
        with self.lib.cuda.stream(side):  # once for real, so that memory and kernels are there
            step()
        self.lib.cuda.current_stream().wait_stream(side)
        graph = self.lib.cuda.CUDAGraph()
        graph.register_generator_state(self._luck)
        with self.lib.cuda.graph(graph):
            step()
        replay: Callable[[], None] = graph.replay
        return replay

    def finish(self) -> None:
        if self._device.type == "cuda":
            self.lib.cuda.synchronize()
