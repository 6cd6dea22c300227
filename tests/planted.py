"""Do the tests find errors? Plant one at a time in a copy of the sources, and run the tests that should.

    python tests/planted.py            # all; prints a table, and ends with status 1 if an error was not found
    python tests/planted.py sign bias  # those whose names hold one of the words

An error is a replacement of one piece of text by another. If the piece is gone, the error is not planted, and that is a
failure too: give the new form of the piece here.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Planted:
    """An error: what stands in a file, what shall stand there instead, and the tests that should find it."""

    name: str
    file: str
    old: str
    new: str
    tests: str


#: Each has a name, a file with the tests that should find it, and the lines that go, and come in their place.
TABLE = r"""
sign of a derivative
kernels/margins.py < tests/losses/test_binary.py
- slope[k] = -(e if z[k] >= 0 else one) / (one + e)
+ slope[k] = (e if z[k] >= 0 else one) / (one + e)

bias dropped for every fourth entry
kernels/observed.py < tests/kernels/test_observed.py
- total(s1) + (b[i] + c[j1])
+ total(s1) + b[i]

level off by one
ratings/scoring.py < tests/contract/test_output.py
- return np.asarray(self.scale[self.in_blocks(self.levels, users, items) - 1])
+ return np.asarray(self.scale[self.in_blocks(self.levels, users, items) - 2])

seen items not excluded
ratings/topn.py < tests/contract/test_output.py -k recommendations
- table[rows[here], columns[here] - start] = -np.inf
+ pass

wrong end of the ties
kernels/ranking.py < tests/kernels/test_ranking.py
- value == other and column > other_column
+ value == other and column < other_column

fold-in keeps the users of training
ratings/base.py < tests/contract/test_output.py -k fold
- new.users_, new.ratings_, new.updates_ = given.ratings.users, given.ratings, None
+ new.ratings_, new.updates_ = given.ratings, None

the rating of training wins
ratings/interaction_model.py < tests/contract/test_output.py -k only_as_the_caller
-         return merged(earlier, new)
+         return merged(new, earlier)

nobody hears the callback
model/progress.py < tests/contract/test_fitting.py -k returns_true
- self.stopped = True
+ self.stopped = False

ids of users and items exchanged
ratings/lookup.py < tests/contract/test_output.py
- users, items = self.users.index(user_ids), self.items.index(item_ids)
+ items, users = self.users.index(user_ids), self.items.index(item_ids)

thresholds not sorted
ratings/factors/mmmf.py < tests/ratings/factors/test_mmmf.py
- return np.sort(thresholds, axis=1)
+ return thresholds

members share one seed
ratings/ensemble.py < tests/ratings/test_ensemble.py
- set_params(random_state=int(seed), callback=None),
+ set_params(random_state=int(seeds[0]), callback=None),

seed ignored by a thread
ratings/sampled/fold_in.py < tests/contract/test_determinism.py -k BPMF
- kernel(cuts[k], cuts[k + 1], keys[s], self.indptr
+ kernel(cuts[k], cuts[k + 1], fold(__import__('threading').get_ident(), s), self.indptr

a learned number is not saved
ratings/factors/als.py < tests/contract/test_files.py -k ALS
- mean_: float = learned()
+ mean_: float = learned(saved=False)

duplicates: first in place of last
ratings/data.py < tests/contract/test_input.py -k duplicates
-     ends = np.flatnonzero(np.append(~repeated, True))
-     if times is None:
+     ends = np.flatnonzero(np.append(True, ~repeated))
+     if times is None:

loops do not wait for their threads
kernels/threads.py < tests/kernels/test_threads.py
-             share.wait()
+             pass

the BLAS limit of the last thread is not lifted
kernels/threads.py < tests/kernels/test_threads.py -k 'blas or library'
- self._set(min(self.limits, default=self.free))
+ self._set(min(self.limits, default=1))

curvature of the oldest pair
solvers/lbfgs.py < tests/solvers/test_lbfgs.py
- shares[k] = (B[k] @ c) / B[k, m + k]
+ shares[k] = (B[k] @ c) / B[m + k, m + k]

penalty without its half
penalties.py < tests/test_penalties.py
- return 0.5 * self.alpha * vectors.dot(flat, flat)
+ return self.alpha * vectors.dot(flat, flat)

a cut includes the score on it
labels/decisions.py < tests/labels/test_decisions.py tests/contract_labels/test_forms.py
- return scores > np.asarray(self.value, dtype=np.float64)  #
+ return scores >= np.asarray(self.value, dtype=np.float64)  #

top-k takes the lowest scores
labels/decisions.py < tests/labels/test_decisions.py
- best = np.argsort(-scores, axis=1, kind="stable")
+ best = np.argsort(scores, axis=1, kind="stable")

sample weights ignored
labels/embedding/plst.py < tests/contract_labels tests/labels/test_code_models.py -k weight
- principal_directions(Y, d, space.weights)
+ principal_directions(Y, d)

constant labels: on and off exchanged
labels/base.py < tests/contract_labels/test_fitting.py -k constant
- np.where(counts == 0, -1, counts == n_known)
+ -np.where(counts == 0, -1, counts == n_known)

a fit which fails leaves its traces
model/commit.py < tests/model/test_commit.py tests/contract_labels/test_fitting.py -k 'exception or commit'
-     fitted = copy.copy(model)
-
+     fitted = model
+

denominator of the normalized error
metrics/ratings.py < tests/metrics/test_ratings_metrics.py
- return float(distance / ((levels.size**2 - 1) / (3 * levels.size)))
+ return float(distance / ((levels.size**2 - 1) / (2 * levels.size)))

Holm: the smallest p is multiplied by one too few
evaluation/significance.py < tests/evaluation/test_statistics.py -k holm
- np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
+ np.maximum.accumulate(p[order] * np.arange(len(p) - 1, -1, -1))

training sees the users held out
model/splits.py < tests/evaluation/test_splits.py
-             train = np.flatnonzero(~fold_in)
-             fold_in[test] = False
-
+             fold_in[test] = False
+             train = np.flatnonzero(~fold_in)
+

stale key: the seed of a cell is not in it
evaluation/running.py < tests/evaluation/test_keys.py tests/evaluation/test_store.py -k 'key or seed'
- facts = [self.measure, self.method, self.data, self.checksum, self.split, self.seed, self.parameters]
+ facts = [self.measure, self.method, self.data, self.checksum, self.split, self.parameters]

stale key: changed sources keep it
evaluation/keys.py < tests/evaluation/test_keys.py
- total.update(hashlib.sha256(file.read_bytes()).digest())
+ total.update(file.name.encode())

report by label: missed and wrong exchanged
metrics/by_label.py < tests/metrics/test_by_label.py
- _most_confused(sparse.vstack(self._missed), sparse.vstack(self._wrong))
+ _most_confused(sparse.vstack(self._wrong), sparse.vstack(self._missed))

explanations: coefficients in place of contributions
labels/explaining.py < tests/contract_labels/test_explanations.py
- shares = values.astype(np.float64) * self._coef[which]
+ shares = self._coef[which]

many labels: a table of label × label is not counted
labels/embedding/grople.py < tests/labels/test_many_labels.py
- return super()._fit_bytes(data) + 40 * data.labels.shape[1] ** 2
+ return super()._fit_bytes(data)

pages do not escape texts
pages/page.py < tests/evaluation/test_escaping.py tests/test_reports.py
- autoescape=True
+ autoescape=False

wrong line in a message
datasets/readers/text.py < tests/datasets/test_files.py
- start, line_number = after, line_number + 1
+ start = after

the old file is emptied before the new one is whole
files.py < tests/datasets/test_write.py tests/test_persistence.py
-         with temporary.open("xb") as stream:
+         target.write_bytes(b"")
+         with temporary.open("xb") as stream:
"""


def read_table(table: str) -> Iterator[Planted]:
    """Yield the errors of a table."""
    for lines in map(str.splitlines, table.strip().split("\n\n")):
        file, _, tests = lines[1].partition(" < ")
        old, new = ("\n".join(line[2:] for line in lines[2:] if line[0] == sign) for sign in "-+")
        yield Planted(lines[0], file, old, new, tests)


ERRORS = tuple(read_table(TABLE))


def main(words: list[str]) -> int:
    """Plant errors, print which test finds each, and return how many were not found."""
    missed = 0
    print("| planted error | file | found by | s |\n|---|---|---|---|")
    for error in ERRORS:
        if words and not any(word in error.name for word in words):
            continue
        start = time.perf_counter()
        finder = found_by(error)
        missed += finder is None
        seconds = time.perf_counter() - start
        print(f"| {error.name} | {error.file} | {finder or '**nothing**'} | {seconds:.0f} |", flush=True)
    return missed


def found_by(error: Planted) -> str | None:
    """Return the first test that fails with an error in the sources; None if all pass."""
    source = (ROOT / "src/cofactor" / error.file).read_text()
    if source.count(error.old) != 1:
        raise SystemExit(f"{error.name}: {error.file} holds {error.old!r} {source.count(error.old)} times, not once")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "src"
        shutil.copytree(ROOT / "src", copy)  # with its compiled code, which holds for the files that stay
        changed = source.replace(error.old, error.new)
        if "threading." in error.new and "import threading" not in changed:
            changed = changed.replace("\nimport ", "\nimport threading\nimport ", 1)
        (copy / "cofactor" / error.file).write_text(changed)
        paths = os.pathsep.join([str(copy), str(ROOT)])
        command = f"{sys.executable} -m pytest -x -q -p no:cacheprovider -m '' {error.tests}"
        environment = {**os.environ, "PYTHONPATH": paths}
        done = subprocess.run(command, shell=True, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    found = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
    if done.returncode != 1 or found is None:
        raise SystemExit(f"{error.name}: the tests did not run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return found[1]


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
