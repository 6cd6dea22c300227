"""Draws the pictures of the site that no example draws: `python docs/pictures.py` writes them into `_static`."""

from __future__ import annotations

from html import escape
from pathlib import Path

FOLDER = Path(__file__).parent / "_static"
INK, BLUE, ORANGE, GREEN, PALE = "#1b1f24", "#0072b2", "#b34a00", "#006b4f", "#f2f5f9"
FONT = 'font-family="system-ui, sans-serif"'

#: What one has, its colour, and what one wants with the models that do it, the first of them to begin with.
CHOICES = (
    (
        "Ratings",
        BLUE,
        (
            ("lists of what people choose and like", "Recommender"),
            ("accurate ratings, with probabilities", "OrdinalProbit"),
            ("a fit within a second", "MMMF, ALS"),
            ("real-valued estimates", "ALS, PMF"),
            ("factors that can be read", "RatingNMF, URP"),
            ("tastes that drift with time", "OrdinalProbit(time=True)"),
            ("more ratings than memory", "ALS, OrdinalProbit on shards"),
        ),
    ),
    (
        "Clicks, plays, purchases",
        GREEN,
        (
            ("the best lists", "Recommender"),
            ("up to some 20,000 items", "EASE"),
            ("very many items", "ImplicitALS, LogisticMF"),
            ("similar items, reasons", "EASE, ItemKNN"),
            ("the same list for all", "Popularity"),
            ("items without interactions", "Recommender, item features"),
        ),
    ),
    (
        "Features and labels",
        ORANGE,
        (
            ("a tagger that is accurate at once", "LabelRidge"),
            ("thousands of labels", "PLST, LEML"),
            ("whole label sets right", 'TreeCRF, threshold="joint"'),
            ("groups of rare labels", "GroPLE, MME"),
            ("instances that arrive in a stream", "OMF.partial_fit"),
            ("few instances, smooth features", "MLkNN, BRkNN"),
            ("which features count", "LLSF, explain(X)"),
        ),
    ),
)


def words(x: float, y: float, text: str, size: int = 15, colour: str = INK, **style: str) -> str:
    """Return a line of text."""
    more = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in style.items())
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="{colour}" {FONT}{more}>{escape(text)}</text>'


def box(x: float, y: float, width: float, height: float, fill: str, stroke: str = "none") -> str:
    """Return a rectangle with round corners."""
    size = f'x="{x}" y="{y}" width="{width}" height="{height}"'
    return f'<rect {size} rx="6" fill="{fill}" stroke="{stroke}"/>'


def picture(width: float, height: float, title: str, parts: list[str]) -> str:
    """Return a drawing on white."""
    size = f'viewBox="0 0 {width} {height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(title)}">'
    return "\n".join([head, f"<title>{escape(title)}</title>", box(0, 0, width, height, "#fff"), *parts, "</svg>", ""])


def chooser() -> str:
    """Return the choice of a model: what one has, what one wants, what does it."""
    parts, wide, row = [], 320, 58
    for column, (have, colour, rows) in enumerate(CHOICES):
        x = 16 + column * (wide + 16)
        parts += [box(x, 16, wide, 44, colour), words(x + 16, 45, have, 18, "#fff", font_weight="600")]
        for k, (want, models) in enumerate(rows):
            y = 72 + k * row
            first, _, rest = models.partition(",")
            weight = "700" if k == 0 else "600"
            parts += [
                box(x, y, wide, row - 8, PALE),
                box(x, y, 5, row - 8, colour),
                words(x + 16, y + 20, want),
                words(x + 16, y + 41, f"→ {first}{',' if rest else ''}{rest}", 16, colour, font_weight=weight),
            ]
    height = 72 + row * max(len(rows) for _, _, rows in CHOICES) + 8
    return picture(16 + 3 * (wide + 16), height, "Which model, by what you have and what you want", parts)


def front() -> str:
    """Return a table with gaps, equal to a product of two narrow ones, and the same table without gaps."""
    known = ["5.4.1", ".5.2.", "4.51.", "1.2.5", ".14.4"]
    full = ["53421", "45321", "42512", "13245", "21454"]
    cell, parts = 34, []

    def table(x: float, rows: list[str], filled: list[str] | None = None) -> None:
        for i, row in enumerate(rows):
            for j, letter in enumerate(row):
                given = letter != "."
                shown = letter if given else filled[i][j] if filled else "?"
                fill = BLUE if given else "#fff"
                colour = "#fff" if given else ORANGE if filled else "#5a6470"
                left, top = x + j * cell, 60 + i * cell
                parts.append(box(left, top, cell - 3, cell - 3, fill, BLUE if given else "#9aa4b0"))
                parts.append(words(left + 11, top + 22, shown, 16, colour, font_weight="600"))

    def narrow(x: float, y: float, columns: int, rows: int, name: str) -> None:
        for i in range(rows):
            for j in range(columns):
                shade = ("#7fb8d8", "#cfe3f0", "#a5cde4")[(i * 2 + j * 5) % 3]
                parts.append(box(x + j * cell, y + i * cell, cell - 3, cell - 3, shade))
        parts.append(words(x, y - 10, name, 15))

    table(20, known)
    parts.append(words(20, 44, "known ratings"))
    parts.append(words(206, 150, "≈", 30))
    narrow(246, 60, 2, 5, "U: users")
    parts.append(words(324, 150, "×", 26))
    narrow(356, 110, 5, 2, "Vᵀ: items")
    parts.append(words(548, 150, "→", 30))
    table(596, known, full)
    parts.append(words(596, 44, "gaps filled"))
    return picture(
        784, 250, "A table of ratings with gaps becomes the product of two small matrices, which fills it", parts
    )


def main() -> None:
    """Write all pictures."""
    for name, text in (("chooser.svg", chooser()), ("front.svg", front())):
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
