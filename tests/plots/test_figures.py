"""Picture files: formats, equal bytes, whole or not at all."""

import os
import pickle

import pytest
from matplotlib.figure import Figure

from cofactor.errors import InvalidTypeError
from cofactor.plots import plot_tradeoff, save_figure


def tradeoff(ax=None):
    return plot_tradeoff({"HMF": ([0.1, 0.3, 0.5], [0.75, 0.70, 0.73])}, ax=ax)


def line():
    ax = Figure(figsize=(1, 1)).subplots()
    ax.plot([0, 1])
    return ax


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.SVG", b"<?xml"), ("a.pdf", b"%PDF-")])
def test_formats_are_equal_to_the_byte(tmp_path, name, start, monkeypatch):
    save_figure(line(), tmp_path / name)
    first = (tmp_path / name).read_bytes()
    assert first.startswith(start)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000")  # as if written at another time
    save_figure(line().figure, tmp_path / name)
    assert (tmp_path / name).read_bytes() == first
    assert os.listdir(tmp_path) == [name]


def test_part_of_a_figure_saves_the_whole(tmp_path):
    figure = Figure(figsize=(2, 1), dpi=100)
    inner = figure.subfigures(1, 2)[1].subfigures(1, 2)[0]
    plot = inner.subplots()
    sizes = []
    for part in (plot, inner, figure):
        save_figure(part, tmp_path / "a.png")
        data = (tmp_path / "a.png").read_bytes()
        sizes.append((int.from_bytes(data[16:20]), int.from_bytes(data[20:24])))
    assert sizes == [(200, 100)] * 3


def test_a_notebook_shows_the_picture(tmp_path):
    """What the last line of a cell returns, also after it went through a pickle."""
    ax = tradeoff()
    save_figure(ax, tmp_path / "a.png")
    picture, size = pickle.loads(pickle.dumps(ax))._repr_png_()
    assert picture == (tmp_path / "a.png").read_bytes()
    assert size == {"width": 614, "height": 403}  # 6.4 by 4.2 inches


def test_failure_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.png"
    path.write_bytes(b"old")

    def half(self, stream, **_):
        stream.write(b"half a pict")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", half)
    with pytest.raises(OSError, match="No space left"):
        save_figure(tradeoff(), path)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.png"]


def test_bad_names(tmp_path):
    ax = tradeoff()
    with pytest.raises(ValueError, match=r"a\.bmp: pictures are written as \.png, \.svg or \.pdf, found 'bmp'"):
        save_figure(ax, tmp_path / "a.bmp")
    with pytest.raises(ValueError, match="found ''"):
        save_figure(ax, tmp_path / "picture")
    with pytest.raises(FileNotFoundError, match=r"the folder .*missing does not exist"):
        save_figure(ax, tmp_path / "missing" / "a.png")
    with pytest.raises(TypeError, match="must be an Axes or a Figure of matplotlib, found list"):
        save_figure([ax], tmp_path / "a.png")
    assert os.listdir(tmp_path) == []


def test_figures_of_pyplot_are_closed(tmp_path, monkeypatch):
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    _, other = plt.subplots()
    figure, ax = plt.subplots()
    assert tradeoff(ax=ax) is ax
    save_figure(ax, tmp_path / "a.png")
    assert not plt.fignum_exists(figure.number)
    assert plt.get_fignums() == [other.figure.number]
    plt.close("all")


@pytest.mark.parametrize("ax", [3, Figure()])
def test_what_is_no_axes_is_refused(ax):
    with pytest.raises(InvalidTypeError, match=r"^ax=.*: expected Axes of matplotlib; give one of its Axes"):
        tradeoff(ax=ax)
