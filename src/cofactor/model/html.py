"""What a notebook shows of a fitted model below its parameters: what it learned, sizes, a small picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from sklearn.utils import estimator_html_repr

_WIDE, _HIGH = 220, 60  # of the picture
_BLUE = "#0072b2"


def html_of(model: Any) -> str:
    """Return what scikit-learn shows of any estimator, and below it what a fitted one learned.

    As `_html_repr` of a class, notebooks show it (scikit-learn 1.7 and later).
    """
    return str(estimator_html_repr(model)) + _learned(model)


def _learned(model: Any) -> str:
    """Return a table of what a model learned, with a picture; nothing of one that is not fitted."""
    learned = {name: value for name, value in vars(model).items() if name.endswith("_") and not name.startswith("_")}
    rows = list(_rows(learned))
    if not rows:
        return ""
    cells = "".join(f"<tr><td>{escape(name)}</td><td>{escape(text)}</td></tr>" for name, text in rows)
    return f'<div class="cofactor-learned"><table><caption>Learned</caption>{cells}</table>{_picture(learned)}</div>'


def _rows(learned: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield numbers and words as they are, of arrays their shapes, and how many bytes these take together."""
    size = 0
    for name, value in learned.items():
        if isinstance(value, bool | int | str | np.integer):
            yield name, f"{value:,}" if isinstance(value, int | np.integer) else str(value)
        elif isinstance(value, float | np.floating):
            yield name, f"{value:.4g}"
        elif isinstance(value, np.ndarray):
            size += value.nbytes
            yield name, " × ".join(f"{n:,}" for n in value.shape) + f", {value.dtype}"
        elif hasattr(value, "shape") or hasattr(value, "__len__"):
            shape = getattr(value, "shape", None) or (len(value),)
            yield name, " × ".join(f"{n:,}" for n in shape)
    if size:
        yield "arrays", f"{size / 1e6:.2f} MB"


def _picture(learned: Mapping[str, Any]) -> str:
    """Return a drawing of the objective along the fit or, without one, of the sizes of what each label has learned."""
    history, coef = learned.get("history_"), learned.get("coef_")
    if isinstance(history, list) and len(history) > 1 and np.isfinite(history).all():
        return _drawing(_line(history), "objective along the fit")
    if isinstance(coef, np.ndarray) and coef.ndim == 2 and 0 < coef.shape[1] <= _WIDE and np.isfinite(coef).all():
        return _drawing(_bars(np.linalg.norm(coef, axis=0)), "length of the coefficients of each label")
    return ""


def _drawing(parts: str, title: str) -> str:
    size = f'width="{_WIDE}" height="{_HIGH}" viewBox="0 0 {_WIDE} {_HIGH}"'
    return f'<figure><svg {size} role="img" aria-label="{title}">{parts}</svg><figcaption>{title}</figcaption></figure>'


def _line(values: Sequence[float]) -> str:
    y = np.asarray(values, dtype=float)
    y = (y.max() - y) / (np.ptp(y) or 1)
    x = np.linspace(2, _WIDE - 2, len(y))
    points = " ".join(f"{a:.1f},{2 + b * (_HIGH - 4):.1f}" for a, b in zip(x, y, strict=True))
    return f'<polyline points="{points}" fill="none" stroke="{_BLUE}" stroke-width="2"/>'


def _bars(values: Any) -> str:
    tall = values / (values.max() or 1) * (_HIGH - 2)
    wide = _WIDE / len(values)
    bar = '<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" fill="{}"/>'
    return "".join(bar.format(k * wide, _HIGH - one, 0.8 * wide, one, _BLUE) for k, one in enumerate(tall))
