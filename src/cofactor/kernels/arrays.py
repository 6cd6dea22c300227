"""Arrays that kernels make.

NumPy's functions are compiled anew for each kind of kernel, number of dimensions and dtype, and take longer than many a
kernel that calls them.
"""

from typing import Any

from numba.core import cgutils, types
from numba.core.imputils import impl_ret_new_ref
from numba.core.typing.npydecl import parse_dtype, parse_shape
from numba.extending import intrinsic
from numba.np import arrayobj

#: Numba's own functions have no types.
_arrays: Any = arrayobj
_parse_dtype: Any = parse_dtype
_parse_shape: Any = parse_shape
_memset: Any = cgutils.memset
_new_reference: Any = impl_ret_new_ref
_omitted: Any = types.Omitted


def _maker(shape: Any, dtype: Any, zero: bool) -> Any:
    """Return the type of an array, and what generates the code that makes it."""
    number = types.float64 if dtype is None else dtype if isinstance(dtype, types.Number) else _parse_dtype(dtype)
    made = types.Array(number, _parse_shape(shape), "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        sizes = _arrays._parse_shape(context, builder, signature.args[0], arguments[0])
        array = _arrays._empty_nd_impl(context, builder, made, sizes)
        if zero:
            _memset(builder, array.data, builder.mul(array.itemsize, array.nitems), 0)
        return _new_reference(context, builder, made, array._getvalue())

    return made(shape, _omitted(None) if dtype is None else dtype), generate


def _empty_code(typing_context: Any, shape: Any, dtype: Any = None) -> Any:
    """Return an array as `np.empty` does; instead of a dtype, a number of it will do."""
    return _maker(shape, dtype, zero=False)


def _zeros_code(typing_context: Any, shape: Any, dtype: Any = None) -> Any:
    """Return an array of zeros; see `empty`."""
    return _maker(shape, dtype, zero=True)


empty: Any = intrinsic(_empty_code)
zeros: Any = intrinsic(_zeros_code)
