"""Waiting for another thread without sleeping, and without the interpreter's lock."""

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from cofactor.kernels.compile import kernel

#: Turns after a flag is seen. The thread that set it is just leaving the interpreter; asking for the interpreter's lock
#: before it has left would put the thread that asks to sleep.
_EXTRA_TURNS = 10_000


def _load_code(typing_context: Any, flag: Any) -> Any:
    """Read the first element of an int64 array as other threads see it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.load_atomic(data, "acquire", 8)

    return types.int64(flag), generate


def _store_code(typing_context: Any, flag: Any, value: Any) -> Any:
    """Write the first element of an int64 array for other threads to see."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        builder.store_atomic(arguments[1], data, "release", 8)
        return context.get_dummy_value()

    return types.void(flag, types.int64), generate


_load: Any = intrinsic(_load_code)
_store: Any = intrinsic(_store_code)


@kernel
def finish(done, called, turns):  # type: ignore[no-untyped-def]
    """Set `done`, then wait for `called` as `wait_for` does."""
    _store(done, 1)
    for _ in range(turns):
        if _load(called) != 0:
            for _ in range(_EXTRA_TURNS):
                _load(called)
            return True
    return False


_NOBODY = np.zeros(1, np.int64)  #: a counter that no thread waits for


def wait_for(flag: np.ndarray, turns: int) -> bool:
    """Spin until the flag is set, or for so many turns; return whether it is."""
    return bool(finish(_NOBODY, flag, turns))
