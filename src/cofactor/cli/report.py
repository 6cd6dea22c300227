"""The report of `cofactor demo`: one page which needs nothing from elsewhere, and the numbers as JSON."""

from __future__ import annotations

import base64
import json
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cofactor.datasets._bytes import replacing

if TYPE_CHECKING:
    from cofactor.cli.rating_demo import Story
    from cofactor.cli.showcase import Advice
    from cofactor.cli.stage import Tale

__all__ = ["document", "figure", "how_to_go_on", "results", "run", "write", "write_files"]

_STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --soft: #59636e; --line: #d8dee4; --back: #ffffff; --card: #f6f8fa;
  --accent: #0072b2; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9aa4af; --line: #30363d; --back: #0d1117;
  --card: #161b22; --accent: #56b4e9; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: .5rem 0 .25rem; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .5rem; padding-top: .5rem; border-top: 1px solid var(--line); }
p { margin: .5rem 0; } .soft { color: var(--soft); font-size: .9rem; }
.scroll { overflow-x: auto; -webkit-overflow-scrolling: touch; margin: .75rem 0; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; color: var(--soft); font-size: .85rem; white-space: normal; vertical-align: bottom; }
th:first-child, td:first-child, td.text, th.text { text-align: left; } td.text { white-space: normal; }
tr.rule td { color: var(--soft); }
.two { display: grid; gap: 1.5rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); }
.two h3 { font-size: 1rem; margin: .5rem 0; }
figure { margin: 1rem 0; background: #fff; border: 1px solid var(--line); border-radius: .5rem; padding: .75rem; }
figure img { display: block; width: 100%; max-width: 44rem; height: auto; margin: 0 auto; }
figcaption { color: #424a53; font-size: .9rem; padding-top: .5rem; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem; overflow-x: auto;
  font: .85rem/1.6 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.big { display: grid; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); gap: .75rem; margin: 1rem 0; }
.big div { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .6rem .8rem; }
.big b { display: block; font-size: 1.35rem; color: var(--accent); }
.held { color: #009e73; font-weight: 600; }
"""


def results(story: Story) -> dict[str, Any]:
    """Return the story as JSON can hold it."""
    import cofactor
    from cofactor.cli.rating_demo import as_plain

    plain = as_plain(story)
    for row, source in zip(plain["rows"], story.rows, strict=True):
        row["alpha_at_end"] = source.at_end
        row["validation"] = [{"alpha": alpha, "mae": mae} for alpha, mae in source.validation.items()]
        row["published"] = (
            None if source.published is None else dict(zip(("mae", "rmse"), source.published, strict=True))
        )
    for key in ("known_user", "new_user"):
        advice = plain[key]
        advice["liked"] = [{"title": title, "rating": rating} for title, rating in advice["liked"]]
        advice["recommended"] = [
            {"title": title, "predicted": predicted, "held_out_rating": held}
            for title, predicted, held in advice["recommended"]
        ]
        advice["user"] = advice["user"].item() if hasattr(advice["user"], "item") else advice["user"]
    plain["next_steps"] = [command for command, _ in story.next_steps]
    return {"cofactor": cofactor.__version__, **plain}


def write(story: Story, folder: Path) -> None:
    """Write report.html and results.json beside the pictures, which are there already."""
    write_files(folder, results(story), page(story, folder))


def write_files(folder: Path, numbers: dict[str, Any], html: str) -> None:
    """Write results.json, and report.html after it."""
    with replacing(folder / "results.json") as stream:
        stream.write(json.dumps(numbers, indent=2, ensure_ascii=False).encode())
    with replacing(folder / "report.html") as stream:
        stream.write(html.encode())


def page(story: Story, folder: Path) -> str:
    """Return the page, with the pictures of the folder inside."""
    data = story.data
    split = f"{data['train']:,} ratings to train, {data['test']:,} to test, seed {story.seed}"
    parts = [
        f"<h1>cofactor demo</h1><p>{escape(data['description'])}.</p>",
        f'<p class="soft">{split}; {run(story)}.</p>',
        f"<p>{escape(_synthetic(story))}</p>" if data["reason"] else "",
        _highlights(story),
        f"<h2>Errors on ratings held out</h2>{_table(story)}{_notes(story)}",
        "<h2>Recommendations</h2>",
        f'<div class="two">{_advice(story.known_user, "known")}{_advice(story.new_user, "new")}</div>',
        "<h2>Pictures</h2>" if story.pictures else "",
        *(figure(folder / name, caption) for name, caption in story.pictures.items()),
        *how_to_go_on(story),
    ]
    return document(parts)


def run(tale: Tale) -> str:
    """Return what ran where, and how long."""
    import cofactor

    return f"cofactor {cofactor.__version__}, {escape(tale.machine)}; {tale.seconds:.0f} seconds in all"


def how_to_go_on(tale: Tale) -> list[str]:
    """Return the end of a page: what to do next."""
    numbers = "The numbers of this page are in results.json beside it. <code>cofactor --help</code> lists all commands."
    return [
        "<h2>How to go on</h2>",
        *(
            f"<p>{escape(meaning[:1].upper() + meaning[1:])}:</p><pre>{escape(command)}</pre>"
            for command, meaning in tale.next_steps
        ),
        f'<p class="soft">{numbers}</p>',
    ]


def document(parts: list[str]) -> str:
    """Return a page which needs nothing from elsewhere."""
    body = "\n".join(part for part in parts if part)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>cofactor demo</title>\n'
        f'<link rel="icon" href="data:,">\n<style>{_STYLE}</style>\n</head>\n'
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _synthetic(story: Story) -> str:
    return f"These ratings are synthetic, because MovieLens 100K is not on this machine: {story.data['reason']}"


def _highlights(story: Story) -> str:
    assert story.new_user is not None
    rows = {row.name: row for row in story.rows}
    best = rows[story.best]
    figures = [
        (f"{best.errors['mae']:.3f}", f"test MAE of {story.best}"),
        (f"{rows['user median'].errors['mae']:.3f}", "test MAE of each user’s median"),
        (f"{best.seconds:.2f} s", f"to fit {story.best}"),
        (f"{story.new_user.milliseconds:.1f} ms", "to fold in a new user"),
    ]
    cells = "".join(f"<div><b>{escape(number)}</b>{escape(meaning)}</div>" for number, meaning in figures)
    return f'<div class="big">{cells}</div>'


def _table(story: Story) -> str:
    from cofactor.cli.rating_demo import METRICS, error_cells, published

    real = story.data["name"] == "ml-100k"
    heads = list(METRICS.values())
    heads += ["published MAE / RMSE"] if real else []
    heads += ["alpha", "train MAE", "seconds"]
    lines = []
    for row, errors in zip(story.rows, error_cells(story), strict=True):
        cells = [f"<b>{text}</b>" if lowest else text for text, lowest in errors]
        cells += [published(row)] if real else []
        cells += [
            "" if row.alpha is None else f"{row.alpha:.3g}",
            "" if row.train_mae is None else f"{row.train_mae:.4f}",
            "" if row.seconds is None else f"{row.seconds:.2f}",
        ]
        kind = ' class="rule"' if row.is_baseline else ""
        lines.append(f"<tr{kind}><td>{escape(row.name)}</td>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    head = "<th></th>" + "".join(f"<th>{escape(name)}</th>" for name in heads)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'


def _notes(story: Story) -> str:
    from cofactor.cli.rating_demo import notes

    texts = ["Bold: the lowest of its column.", *notes(story)]
    return "".join(f'<p class="soft">{escape(text)}</p>' for text in texts)


def _advice(advice: Advice | None, kind: str) -> str:
    assert advice is not None
    if kind == "new":
        title = "A new user, without training again"
        lead = f"Folded in after {advice.milliseconds:.1f} ms, from five ratings"
    else:
        title = f"User {advice.user}"
        lead = f"Out of {advice.n_ratings} ratings, this user likes"
    liked = ", ".join(f"{escape(name)} <b>{rating:g}</b>" for name, rating in advice.liked)
    shown = any(held is not None for _, _, held in advice.recommended)
    rows = []
    for name, predicted, held in advice.recommended:
        extra = f'<td class="held">{f"{held:g}" if held is not None else ""}</td>' if shown else ""
        rows.append(f'<tr><td class="text">{escape(name)}</td><td>{predicted:g}</td>{extra}</tr>')
    head = '<th class="text">recommended</th><th>predicted</th>' + ("<th>true rating</th>" if shown else "")
    note = '<p class="soft">True ratings are from the test part, which the model has not seen.</p>' if shown else ""
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f"<section><h3>{escape(title)}</h3><p>{lead}: {liked}.</p>{table}{note}</section>"


def figure(path: Path, caption: str) -> str:
    """Return a picture inside the page, with its caption."""
    picture = base64.b64encode(path.read_bytes()).decode()
    return (
        f'<figure><img alt="{escape(caption)}" src="data:image/png;base64,{picture}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )
