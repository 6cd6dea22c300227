"""The report of `cofactor demo`: one page which needs nothing from elsewhere, and the numbers as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cofactor.pages import Html, document, highlights, paragraph, section, side_by_side, strong, table
from cofactor.reports import demo

if TYPE_CHECKING:
    from cofactor.cli.rating_demo import Story
    from cofactor.cli.showcase import Advice

__all__ = ["results", "write"]


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
    demo.write_files(folder, results(story), page(story, folder))


def page(story: Story, folder: Path) -> str:
    """Return the page, with the pictures of the folder inside."""
    data = story.data
    split = f"{data['train']:,} ratings to train, {data['test']:,} to test, seed {story.seed}"
    synthetic = f"These ratings are synthetic, because MovieLens 100K is not on this machine: {data['reason']}"
    return document(
        "cofactor demo",
        paragraph(f"{data['description']}."),
        paragraph(f"{split}; {demo.run(story.machine, story.seconds)}.", soft=True),
        paragraph(synthetic) if data["reason"] else "",
        _highlights(story),
        section("Errors on ratings held out", _table(story), *_notes(story)),
        section("Recommendations", side_by_side(_advice(story.known_user, "known"), _advice(story.new_user, "new"))),
        *demo.pictures(folder, story.pictures),
        demo.how_to_go_on(story.next_steps),
    )


def _highlights(story: Story) -> Html:
    assert story.new_user is not None
    rows = {row.name: row for row in story.rows}
    best = rows[story.best]
    return highlights(
        [
            (f"{best.errors['mae']:.3f}", f"test MAE of {story.best}"),
            (f"{rows['user median'].errors['mae']:.3f}", "test MAE of each user’s median"),
            (f"{best.seconds:.2f} s", f"to fit {story.best}"),
            (f"{story.new_user.milliseconds:.1f} ms", "to fold in a new user"),
        ]
    )


def _table(story: Story) -> Html:
    from cofactor.cli.rating_demo import METRICS, error_cells, published

    real = story.data["name"] == "ml-100k"
    heads = ["", *METRICS.values()]
    heads += ["published MAE / RMSE"] if real else []
    heads += ["alpha", "train MAE", "seconds"]
    rows = []
    for row, errors in zip(story.rows, error_cells(story), strict=True):
        cells: list[object] = [row.name, *(strong(text) if lowest else text for text, lowest in errors)]
        cells += [published(row)] if real else []
        cells += [
            "" if row.alpha is None else f"{row.alpha:.3g}",
            "" if row.train_mae is None else f"{row.train_mae:.4f}",
            "" if row.seconds is None else f"{row.seconds:.2f}",
        ]
        rows.append(cells)
    baselines = [k for k, row in enumerate(story.rows) if row.is_baseline]
    return table(heads, rows, name="Errors on ratings held out", soft=baselines)


def _notes(story: Story) -> list[Html]:
    from cofactor.cli.rating_demo import notes

    return [paragraph(text, soft=True) for text in ("Bold: the lowest of its column.", *notes(story))]


def _advice(advice: Advice | None, kind: str) -> Html:
    assert advice is not None
    if kind == "new":
        title = "A new user, without training again"
        lead = f"Folded in after {advice.milliseconds:.1f} ms, from five ratings"
    else:
        title = f"User {advice.user}"
        lead = f"Out of {advice.n_ratings} ratings, this user likes"
    return demo.recommendations(title, lead, advice.liked, advice.recommended)
