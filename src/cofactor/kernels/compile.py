"""The one way kernels are compiled."""

from collections.abc import Callable
from functools import update_wrapper
from threading import Lock
from typing import Any, Literal

import numba
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.registry import CPUDispatcher
from numba.extending import intrinsic

from cofactor.kernels.cache import KernelCache, closure_digest

#: Division by zero gives infinity or NaN, as in NumPy: a check in every division would keep loops from being
#: vectorized.
ERRORS: Literal["numpy"] = "numpy"

#: Sums may be reordered and products fused inside one row (fixed at compile time, so results repeat bit by bit);
#: NaN and infinities keep their meaning. No loop may both add up a number and store into an array: it is vectorized
#: only where the arrays prove to lie apart when it runs, so the order of the sum would depend on their addresses. A sum
#: of products in a kernel that other kernels call has another danger: see `ordered`.
FASTMATH = {"contract", "reassoc", "arcp", "nsz"}

# Kernels copy arrays element by element. For `out[:] = x`, x being an array, Numba would compile into each of them what
# writes the message of an error, which takes longer than most kernels. So do fancy indices and expressions of arrays.


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` for use from several threads, cached on disk.

    Examples
    --------
    >>> import numpy as np
    >>> @kernel
    ... def total(x):
    ...     s = 0.0
    ...     for value in x:
    ...         s += value
    ...     return s
    >>> float(total(np.array([1.0, 2.0])))
    3.0
    """
    return _compile(function, fastmath=FASTMATH)


def exact(function: Callable[..., Any]) -> Any:
    """Compile `function` as `kernel` does, but round every operation as it is written.

    For arithmetic on short arrays element by element. Compiled code takes another path where two arrays lie less than a
    few hundred bytes apart, and another where a function was compiled into its caller; only exact operations give the
    same bits on all. Callers must be exact too: what they may reorder they also reorder in what they call.

    Examples
    --------
    >>> @exact
    ... def product(x, y):
    ...     return x * y
    >>> product(2.0, 3.0)
    6.0
    """
    return _compile(function)


def ordered(function: Callable[..., Any]) -> Any:
    """Compile `function` as `kernel` does, but keep the order of its sums; a product is still fused with a sum.

    For a sum of several products in one expression, in a kernel that other kernels call. Each caller holds a copy of
    a short kernel, which is optimized once more, and every such pass may group the terms of a sum anew. A process uses
    the copy that it loads first. So without this the bits depend on whether kernels were compiled just now or come from
    the cache.

    Examples
    --------
    >>> @ordered
    ... def combination(x, y):
    ...     return 8.0 - 2 * x - 3 * y
    >>> combination(1.0, 2.0)
    0.0
    """
    return _compile(function, fastmath={"contract"})


def inlined(function: Callable[..., Any]) -> Any:
    """Compile `function` into each kernel that calls it: loops around arithmetic without branches are then vectorized.

    Examples
    --------
    >>> @inlined
    ... def twice(x):
    ...     return x + x
    >>> twice(2)
    4
    """
    return numba.njit(inline="always", error_model=ERRORS)(function)


def _fused(context, x, y, z):  # type: ignore[no-untyped-def]
    """Return x y + z, rounded once: the bits are the same wherever it stands, and exact kernels are fast with it.

    In single precision if all three numbers are.
    """
    number = types.float32 if {x, y, z} == {types.float32} else types.float64
    return number(number, number, number), lambda c, builder, s, args: builder.fma(*args)


fused: Any = intrinsic(_fused)


def _compile(function: Callable[..., Any], **options: Any) -> Any:
    # Symbols of compiled code are named after their function: those of one factory must not share a name.
    digest = closure_digest(function)
    if digest:
        function.__qualname__ += f"_{digest}"
    # No kernel is called from C, and a wrapper for that takes a twentieth of the time of compilation.
    return Kernel(function, nopython=True, nogil=True, error_model=ERRORS, no_cfunc_wrapper=True, **options)


class Kernel:
    """A function that is compiled for the types it is called with, by Python and by other kernels.

    Numba's parts of it are made when it is first called: an import brings many kernels of which few are used. There is
    one for Python and one for kernels. What Python calls has a wrapper that takes arrays and numbers out of objects,
    which takes a sixth of the time of compilation; most kernels are called by one of the two alone.

    Parameters
    ----------
    function : callable
        The function.
    **options
        What `numba.njit` takes.
    """

    def __init__(self, function: Any, **options: Any) -> None:
        update_wrapper(self, function)
        self.py_func, self._options = function, options
        self._dispatcher: Any = None
        self._for_kernels: Any = None

    def __call__(self, *args: Any) -> Any:
        """Call the compiled function."""
        if self._dispatcher is None:
            with _making:  # one, whichever threads call it first
                self._dispatcher = self._dispatcher or self._made()
        return self._dispatcher(*args)

    @property
    def _numba_type_(self) -> Any:  # by which Numba knows what other kernels call
        with _making:
            self._for_kernels = self._for_kernels or self._made(no_cpython_wrapper=True)
        return types.Dispatcher(self._for_kernels)

    def _made(self, **options: Any) -> Any:
        made: Any = _Dispatcher(self.py_func, targetoptions=self._options | options, pipeline_class=_Compiler)
        # Of a function that was typed at a prompt there is nothing to keep.
        if not self.py_func.__code__.co_filename.startswith("<"):
            made._cache = KernelCache(made)
        return made


class _Flags(Flags):
    """Options of a compilation, which Numba compares for each call in a kernel: with those of all compilations before.

    Its own look up every option there is, and take a twentieth of the time of compilation.
    """

    def __hash__(self) -> int:
        return hash(frozenset(self._values))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Flags) and self._values == other._values


class _Library(JITCodeLibrary):
    """The code of a kernel: what takes its arguments out of objects is not optimized, which would take a tenth longer.

    Nor does that then hold a second copy of a short kernel.
    """

    def add_ir_module(self, module: Any) -> None:
        """Add code as Numba has generated it."""
        if module.name == "wrapper":
            for function in module.functions:
                if not function.is_declaration:
                    function.attributes.add("noinline")
                    function.attributes.add("optnone")
        super().add_ir_module(module)  # type: ignore[no-untyped-call]


class _Compiler(Compiler):
    """Compiles a kernel by these options, and into such a library."""

    def compile_extra(self, function: Any) -> Any:
        """Return what a function is compiled into."""
        state: Any = self.state
        state.flags = _Flags(state.flags)  # type: ignore[no-untyped-call]
        state.library = _Library(state.targetctx.codegen(), function.__qualname__)  # type: ignore[no-untyped-call]
        state.library.enable_object_caching()
        return super().compile_extra(function)  # type: ignore[no-untyped-call]


class _Dispatcher(CPUDispatcher):
    """Compiles for numbers, not for the literals that stand for them in calls of other kernels."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return the signature of a call."""
        return super().get_call_template(tuple(map(types.unliteral, args)), kws)


_making = Lock()
