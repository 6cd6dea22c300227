"""``cofactor demo``: ratings, in a minute."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cofactor.cli.datasets import warn_of_data_variable
from cofactor.cli.output import Download
from cofactor.cli.stage import Stage, Tale, escape

if TYPE_CHECKING:
    from cofactor.cli.showcase import Advice, Row, Split
    from cofactor.ratings import RatingModel

_TRADEOFF = ("MMMF", "HMF", "PMMMF")

PROTOCOL = (
    "Each alpha is the one of {n_alphas} candidates with the lowest MAE on a tenth of the training part; the test part "
    "chooses nothing. Seconds are those of one fit at that alpha."
)
PUBLISHED_NOTE = (
    "Published: Kumar's thesis, table 4.1, for the same data and 80/20 splits, but with its own settings: alpha such "
    "that the training MAE is .07 to .09, and no biases. HMF has no figure for this protocol."
)
SYNTHETIC_NOTE = (
    "The synthetic ratings are one product of five factors, cut into levels: the case for which MMMF and ALS are made. "
    "HMF learns each boundary between levels by itself, from above and below alone, and its stages' errors add up."
)
METRICS = {"mae": "MAE", "rmse": "RMSE", "zero_one": "zero-one", "nmae": "NMAE"}


@dataclass
class Story(Tale):
    """What the demo of ratings found out."""

    data: dict[str, Any] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    n_alphas: int = 0
    best: str = ""
    known_user: Advice | None = None
    new_user: Advice | None = None


class RatingDemo(Stage):
    """One run: does each step and tells about it."""

    def __init__(self, story: Story, quiet: bool) -> None:
        super().__init__(story, quiet)
        self.story = story

    def run(self, folder: Path, offline: bool) -> Story:
        """Do everything; leave the report in the folder."""
        from cofactor.cli import showcase

        story = self.story
        self.heading("1  Ratings")
        s = self._load(offline)
        grid = showcase.alphas(s.data, story.quick)
        models = showcase.contestants(s.data, story.seed, story.quick)
        story.n_alphas = len(grid)
        self.heading("2  Models")
        with self.counting(len(models) * (len(grid) + 1)):
            fitted = self._compete(models, grid, s)
        self._show_table()
        best = min((row for row in story.rows if not row.is_baseline), key=lambda row: row.validation_mae or 0)
        story.best = best.name
        self._recommend(fitted[best.name], s)
        self.heading("5  Pictures and report")
        with self.workplace(folder) as place:
            self._draw(place, models, fitted, grid, s)
            self._finish(place, folder)
        self.what_next(folder)
        return story

    # ---------------------------------------------------------------- steps

    def _load(self, offline: bool) -> Split:
        from cofactor.cli import showcase
        from cofactor.datasets import available

        story = self.story
        warn_of_data_variable()
        here = next(status.path for status in available() if status.name == "ml-100k")
        if here is None and not offline:
            self.console.print("MovieLens 100K is not on this machine; trying to download it (5 MB) ...")
        data, reason = showcase.load_data(
            story.seed, story.quick, download=not offline, progress=Download("MovieLens 100K", quiet=self.quiet)
        )
        if reason:
            self.console.print(f"[yellow]Synthetic ratings instead:[/yellow] {escape(reason)}")
        assert data.scale is not None
        s = showcase.split(data, story.seed)
        story.data = {
            "name": data.name,
            "description": data.description,
            "users": data.n_users,
            "items": data.n_items,
            "ratings": data.n_ratings,
            "scale": data.scale.tolist(),
            "train": len(s.train),
            "test": len(s.test),
            "reason": reason,
        }
        self.console.print(
            f"{escape(data.description)}.\n{len(s.train):,} ratings to train, {len(s.test):,} to test "
            f"(seed {story.seed})."
        )
        return s

    def _compete(self, models: dict[str, RatingModel], grid: list[float], s: Split) -> dict[str, RatingModel]:
        from cofactor.cli import showcase

        fitted = {}
        for name, model in models.items():
            row, fitted[name] = showcase.compete(name, model, s, grid, self.say)
            self.story.rows.append(row)
            place = " (end of the grid)" if row.at_end else ""
            alpha = "" if row.alpha is None else f"alpha {row.alpha:.3g}{place}, "
            self.console.print(
                f"[green]✓[/green] {name}: {alpha}test MAE {row.errors['mae']:.4f}, one fit {row.seconds:.2f} s"
            )
        self.story.rows += showcase.baselines(s)
        return fitted

    def _recommend(self, model: RatingModel, s: Split) -> None:
        from cofactor.cli import showcase

        story = self.story
        known = story.known_user = showcase.advise_known(model, s)
        self.heading(f"3  Ten recommendations for user {known.user}, by {story.best}")
        self.console.print(f"Out of {known.n_ratings} ratings, this user likes: {escape(_titles(known.liked))}.\n")
        self._show_advice(known)
        new = story.new_user = showcase.advise_new(model, s)
        self.heading("4  A new user, without training again")
        self.console.print(f"Five ratings: {escape(_titles(new.liked))}.")
        self.console.print(f"Folded in after {new.milliseconds:.1f} ms, items held fixed. The recommendations:\n")
        self._show_advice(new)

    def _draw(
        self, place: Path, models: dict[str, RatingModel], fitted: dict[str, RatingModel], grid: list[float], s: Split
    ) -> None:
        if not self.can_draw():
            return
        from cofactor.cli import showcase
        from cofactor.plots import plot_confusion, plot_tradeoff, save_figure

        story = self.story
        assert s.data.scale is not None
        counts = showcase.confusion(fitted[story.best], s)
        save_figure(plot_confusion(counts, s.data.scale, title=story.best), place / "confusion.png")
        story.pictures["confusion.png"] = (
            f"Errors by level: what {story.best} predicts for each true rating of the test part."
        )
        along = {name: models[name] for name in _TRADEOFF}
        with self.counting(len(showcase.SOLVERS) + (0 if story.quick else len(along) * len(grid))):
            self._draw_convergence(place, models, s)
            if not story.quick:
                errors = showcase.tradeoff(along, grid, s, self.say)
                picture = plot_tradeoff(errors, error="MAE", title="Test error against training error along alpha")
                save_figure(picture, place / "tradeoff.png")
                story.pictures["tradeoff.png"] = (
                    f"Test error against training error along alpha, from {grid[0]:.3g} (left) to {grid[-1]:.3g} "
                    "(right), as figure 3.12 of the thesis. Nothing is chosen by this picture."
                )

    def _draw_convergence(self, place: Path, models: dict[str, RatingModel], s: Split) -> None:
        from cofactor.cli import showcase
        from cofactor.plots import plot_convergence, save_figure
        from cofactor.plots.figures import new_panels

        alphas = {row.name: row.alpha for row in self.story.rows if row.alpha is not None}
        panels = showcase.convergence(models, alphas, s, self.say)
        axes = new_panels(len(panels), width=11)
        for ax, (name, curves) in zip(axes, panels.items(), strict=True):
            plot_convergence(curves, ax, gap=True, title=f"Convergence of {name}, alpha {alphas[name]:.3g}")
        save_figure(axes[0], place / "convergence.png")
        self.story.pictures["convergence.png"] = (
            "Convergence: how far the objective is above the lowest one that was reached, for the solvers of a model "
            "from the same start. ALS minimises squared errors, another objective than that of MMMF, by solvers of its "
            "own: the two panels cannot be compared in height."
        )

    def _finish(self, place: Path, folder: Path) -> None:
        from cofactor.cli import report

        self.story.next_steps = next_steps(self.story)
        self.finish(place, folder, lambda place: report.write(self.story, place))

    # ---------------------------------------------------------------- the terminal

    def _show_table(self) -> None:
        from rich import box
        from rich.table import Table

        story = self.story
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        table.add_column("", no_wrap=True)
        for heading in (*METRICS.values(), "seconds"):
            table.add_column(heading, justify="right", no_wrap=True)
        real = story.data["name"] == "ml-100k"
        if real:
            table.add_column("published\nMAE / RMSE", justify="right", no_wrap=True, style="dim")
        for row, errors in zip(story.rows, error_cells(story), strict=True):
            # The star is for pipes and files, where nothing is bold.
            cells = [f"[bold]{text}*[/bold]" if lowest else f"{text} " for text, lowest in errors]
            cells.append("" if row.seconds is None else f"{row.seconds:.2f}")
            if real:
                cells.append(published(row))
            table.add_row(row.name, *cells, style="dim" if row.is_baseline else None)
        self.console.print(table)
        for text in ("* The lowest of its column.", *notes(story)):
            self.console.print(f"[dim]{escape(text)}[/dim]")

    def _show_advice(self, advice: Advice) -> None:
        from rich.table import Table

        table = Table(box=None, show_header=True, padding=(0, 2, 0, 0), header_style="dim")
        table.add_column("", justify="right", style="dim", no_wrap=True)
        table.add_column("title", overflow="ellipsis", no_wrap=True, max_width=46)
        table.add_column("predicted", justify="right", no_wrap=True)
        shown = any(rating is not None for _, _, rating in advice.recommended)
        if shown:
            table.add_column("test part", justify="right", no_wrap=True)
        for rank, (title, predicted, rating) in enumerate(advice.recommended, 1):
            held = f"[green]rated {rating:g}[/green]" if rating is not None else ""
            table.add_row(str(rank), escape(title), f"{predicted:g}", *([held] if shown else []))
        self.console.print(table)


def next_steps(story: Story) -> list[tuple[str, str]]:
    """Return three commands, each with what it does."""
    if story.data["name"] == "synthetic":
        source, titles, alpha = "ratings.csv", "", ""
    else:
        source, titles = story.data["name"], f" --titles {story.data['name']}"
        alpha = next(f" --alpha {row.alpha:.3g}" for row in story.rows if row.name == "MMMF")
    return [
        (
            f"cofactor fit {source}{alpha} --out model.cofactor",
            "learn from ratings, or from your own: a table of user, item, rating",
        ),
        (f"cofactor recommend model.cofactor --user 1{titles}", "recommend ten items, --all for every user"),
        (f"cofactor evaluate {source}{alpha}", "measure on ratings held out, over three splits"),
    ]


def error_cells(story: Story) -> list[list[tuple[str, bool]]]:
    """Return the errors of each row as tables show them, each with whether it is the lowest of its column."""
    shown = [[f"{row.errors[key]:.4f}" for key in METRICS] for row in story.rows]
    lowest = [min(column, key=float) for column in zip(*shown, strict=True)]
    return [[(text, text == least) for text, least in zip(row, lowest, strict=True)] for row in shown]


def notes(story: Story) -> list[str]:
    """Return what must be known to read the table of errors."""
    texts = [PROTOCOL.format(n_alphas=story.n_alphas)]
    ends = [f"{row.name} ({row.alpha:.3g})" for row in story.rows if row.at_end]
    if ends:
        texts.append(
            f"The first or the last candidate was best, so that a better alpha may lie beyond: {', '.join(ends)}."
        )
    texts.append(SYNTHETIC_NOTE if story.data["name"] == "synthetic" else PUBLISHED_NOTE)
    return texts


def published(row: Row) -> str:
    """Return the published figures as the table shows them."""
    return "–" if row.published is None else "{:.4f} / {:.4f}".format(*row.published)


def as_plain(story: Story) -> dict[str, Any]:
    """Return the story as plain values."""
    return asdict(story)


def _titles(liked: list[tuple[str, float]]) -> str:
    return ", ".join(f"{title} {rating:g}" for title, rating in liked)
