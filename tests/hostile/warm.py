"""What the server of processes loads before it forks: then runs are short, and much of their time is their work."""

from __future__ import annotations

import tempfile
import warnings
from importlib import import_module
from pathlib import Path

from typer import Context

from cofactor.cli.app import _program
from cofactor.evaluation import compare
from cofactor.experiments import experiments
from cofactor.ratings import ALS, HMF, OrdinalProbit
from cofactor.reports.comparison import write_report

#: What commands import only where they need it.
LATE = ["cofactor.experiments.declared", "cofactor.service.sharding", "pyarrow.parquet"]

for name in LATE:
    import_module(name)
experiments()
program = _program()  # typer loads more to read arguments
_, command, arguments = program.resolve_command(Context(program), ["compare", "ratings.csv"])
command.make_context("compare", arguments)
X, y = (
    [(u, i) for u in range(9) for i in range(9) if (u + i) % 3],
    [1 + (u * i) % 5 for u in range(9) for i in range(6)],
)
models = {"als": ALS(2, 1.0), "hmf": HMF(2, 1.0), "ordinal-probit": OrdinalProbit(2, n_sweeps=4, burn_in=1)}
with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
    warnings.simplefilter("ignore")
    for model in models.values():
        model.set_params(random_state=0).fit(X, y).predict(X)
    # A store asks for all sources that take part, and a report for what draws: each takes a second in a new process.
    compared = compare(models, {"toy": (X, y)}, store=Path(folder, "store"))
    write_report(Path(folder, "report.html"), compared)
