"""Kernels as parts of others: what a kernel calls is linked into it, optimized there, and no machine code of its own.

Numba compiles a function once more into each caller, and yet makes it ready to be called alone: it is optimized, turned
into machine code and given a wrapper for Python, which takes a quarter of the time to compile all kernels. So each
kernel here has a part, which other kernels call in its place, and is compiled itself when Python calls it.
"""

from functools import update_wrapper
from threading import Lock
from typing import Any

from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering

from cofactor.kernels.cache import KernelCache


class _Library(JITCodeLibrary):
    """Code for others to link."""

    def finalize(self) -> None:
        """Link what this code calls, and leave the rest to callers."""
        for library in dict.fromkeys(self._linking_libraries):
            if hasattr(self, "_reload_init"):  # not in older versions of Numba
                self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)  # type: ignore[no-untyped-call]
class _Lowering(NativeLowering):
    """Numba's pass from its own code to that of LLVM, without what follows."""

    _name = "cofactor_part_lowering"

    def run_pass(self, state: Any) -> bool:
        """Write the code into a library for callers."""
        state.library = _Library(state.targetctx.codegen(), state.func_id.func_qualname)  # type: ignore[no-untyped-call]
        state.flags.no_compile = True
        super().run_pass(state)  # type: ignore[no-untyped-call]
        # Numba finds the code of a callee by a function of C, any of its own: it is never called.
        key = object().__dir__
        state.targetctx.insert_user_function(key, state.cr.fndesc, [state.library])
        state.cr = state.cr._replace(cfunc=key)
        return True


class _Compiler(CompilerBase):
    """Numba's compiler, up to that pass."""

    def define_pipelines(self) -> list[Any]:
        """Return the passes."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)  # type: ignore[no-untyped-call]
        passes.passes = [(_Lowering if each is NativeLowering else each, text) for each, text in passes.passes]
        passes.finalize()
        return [passes]


class _Part(CPUDispatcher):
    """What kernels call in the place of a kernel."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{self.py_func.__name__} is here for kernels to call")

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return the signature of a call; it is compiled for numbers, not for the literals that stand for them."""
        return super().get_call_template(tuple(map(types.unliteral, args)), kws)


class Kernel:
    """A function that Python calls; kernels call its part. Each is made when it is first called.

    Parameters
    ----------
    function : callable
        The function.
    cached : bool
        Whether what is compiled is kept on disk.
    **options
        What `numba.njit` takes.

    Examples
    --------
    >>> twice = Kernel(lambda x: x + x, cached=False)
    >>> twice(2.0)
    4.0
    """

    def __init__(self, function: Any, *, cached: bool, **options: Any) -> None:
        update_wrapper(self, function)
        self.py_func, self._cached, self._options = function, cached, {**options, "nopython": True}
        self._dispatcher: Any = None
        self._part: Any = None

    def __call__(self, *args: Any) -> Any:
        """Call the compiled function."""
        return (self._dispatcher or self._made())(*args)

    def _made(self) -> Any:
        with _making:  # one, whichever threads call it first
            if self._dispatcher is None:
                made = CPUDispatcher(self.py_func, targetoptions=self._options)
                if self._cached:
                    made._cache = KernelCache(made)
                self._dispatcher = made
        return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        with _making:
            if self._part is None:
                options = {**self._options, "no_cpython_wrapper": True}
                self._part = _Part(self.py_func, targetoptions=options, pipeline_class=_Compiler)
        return types.Dispatcher(self._part)


_making = Lock()
