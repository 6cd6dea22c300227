"""Named arrays in one vector."""

import numpy as np

from cofactor.problems import Layout


def test_views_share_memory_and_cover_the_vector() -> None:
    layout = Layout({"U": (3, 2), "b": (3,), "V": (1, 2), "none": (0, 4)})
    x = np.arange(11.0)
    views = layout.views(x)
    assert layout.size == 11
    assert list(views) == ["U", "b", "V", "none"]
    assert views["none"].shape == (0, 4)
    for view in views.values():
        view += 100
    assert np.array_equal(x, np.arange(100.0, 111.0))


def test_pack_inverts_views() -> None:
    layout = Layout({"U": (3, 2), "b": (3,)})
    x = np.random.default_rng(0).normal(size=9)
    packed = layout.pack(layout.views(x), np.float32)
    assert packed.dtype == np.float32
    assert np.array_equal(packed, x.astype(np.float32))
    packed[:] = 0
    assert x.any()  # a new vector, not a view
