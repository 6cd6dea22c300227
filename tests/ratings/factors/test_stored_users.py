"""Models whose users stay in the folder of shards: the bits of those in memory, and clear words when it has changed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.ratings.sharding.files import write

import cofactor
from cofactor.datasets import make_ratings
from cofactor.errors import InputWarning, InvalidInputError
from cofactor.files import replacing
from cofactor.model.state import is_mapped
from cofactor.ratings import (
    ALS,
    HMF,
    MMMF,
    PMMMF,
    GibbsMMMF,
    OrdinalProbit,
    Ratings,
    ShardedRatings,
    append_files,
    as_ratings,
    shard_folder,
)
from cofactor.ratings.shard_folder import stored_users_of

MODELS: dict[str, Callable[[], Any]] = {
    "ALS": lambda: ALS(3, alpha=1.0, max_iter=5, tol=0, random_state=0),
    "MMMF": lambda: MMMF(3, alpha=1.0, max_iter=6, tol=0, random_state=0),
    "PMMMF": lambda: PMMMF(3, alpha=1.0, max_iter=6, tol=0, random_state=0),
    "HMF": lambda: HMF(2, alpha=1.0, max_iter=6, tol=0, random_state=0),
    "OrdinalProbit": lambda: OrdinalProbit(3, n_sweeps=43, burn_in=2, random_state=0),
    "GibbsMMMF": lambda: GibbsMMMF(3, n_sweeps=9, burn_in=2, thin=2, n_chains=2, random_state=0),
    "GibbsMMMF, one sample": lambda: GibbsMMMF(3, n_sweeps=3, burn_in=2, decision="median", random_state=0),
}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@cache
def ratings() -> Ratings:
    data = make_ratings(60, 30, 3, n_levels=5, density=0.3, random_state=0)
    return as_ratings(data.X, data.y, scale=[1, 2, 3, 4, 5])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place with a folder of shards, and models in the folder and in memory beside it."""
    place = tmp_path_factory.mktemp("stored")
    ShardedRatings.from_ratings(ratings(), 3).save(place / "big")
    for name, make in MODELS.items():
        for users in ("folder", "memory"):
            make().fit(ShardedRatings.open(place / "big").on(users=users)).save(place / f"{name}-{users}")
    return place


@pytest.fixture
def copied(place: Path, tmp_path: Path) -> Path:
    """The same place, elsewhere, to be spoiled; the first one cannot be reached from there."""
    shutil.copytree(place, tmp_path / "copy")
    return tmp_path / "copy"


def elsewhere(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    """Let nothing be found at the place where models were fitted."""
    exists = Path.exists
    monkeypatch.setattr(Path, "exists", lambda path: place not in path.parents and exists(path))


@pytest.mark.parametrize("name", MODELS)
def test_answers_have_the_bits_of_a_model_in_memory(name: str, place: Path) -> None:
    stored, memory = (cofactor.load(place / f"{name}-{users}") for users in ("folder", "memory"))
    assert stored_users_of(stored)
    assert not stored_users_of(memory)
    assert (place / f"{name}-folder").stat().st_size < (place / f"{name}-memory").stat().st_size
    pairs = [(user, item) for user in ratings().users.ids for item in [*ratings().items.ids[:7], "unknown"]]
    new = [("new", item) for item in ratings().items.ids[:4]], [5, 4, 1, 2]
    for one, other in zip(_answers(stored, pairs, new), _answers(memory, pairs, new), strict=True):
        np.testing.assert_array_equal(one, other)


def _answers(model: Any, pairs: list[Any], new: Any) -> list[np.ndarray]:
    lists = [*model.recommend(None, 4), *model.recommend(model.users_.ids[[40, 2]], 3, exclude_seen=False)]
    folded = model.fold_in(*new)
    likely = [model.predict_proba(pairs)] if hasattr(model, "predict_proba") else []
    answers = [model.predict(pairs), model.margins(pairs), model.decision_function(pairs[:1])]
    return [*lists, *likely, *answers, folded.margins([("new", pairs[6][1])])]


def test_arrays_of_users_are_mapped_and_not_read(place: Path) -> None:
    model = cofactor.load(place / "MMMF-folder")
    assert is_mapped(model.U_)
    assert model.U_ is model.stored_users_.arrays["U_"]
    assert not np.isfinite(cofactor.load(place / "PMMMF-folder").planes_).all(), "levels that users lack have no plane"


def test_a_fold_in_of_it_is_saved_whole(place: Path, tmp_path: Path) -> None:
    items = ratings().items.ids
    new = cofactor.load(place / "MMMF-folder").fold_in([("new", items[0]), ("new", items[1])], [5, 1])
    new.save(tmp_path / "new")
    again = cofactor.load(tmp_path / "new")
    assert not stored_users_of(again)
    np.testing.assert_array_equal(again.margins([("new", items[2])]), new.margins([("new", items[2])]))


def test_more_items_have_the_bits_of_those_in_memory(place: Path, tmp_path: Path) -> None:
    users, found = ratings().users.ids, []
    for where in ("folder", "memory"):
        model = cofactor.load(place / f"OrdinalProbit-{where}")
        new = model.fold_in_items([(users[0], "new"), (users[1], "new")], [5, 1])
        new.save(tmp_path / "new")
        found.append(cofactor.load(tmp_path / "new").margins([(user, "new") for user in users]))
    np.testing.assert_array_equal(*found)


def test_more_items_leave_users_where_they_are(place: Path, tmp_path: Path) -> None:
    users = ratings().users.ids
    new = cofactor.load(place / "ALS-folder").fold_in_items([(users[0], "new"), (users[1], "new")], [5, 1])
    new.save(tmp_path / "new")
    again = cofactor.load(tmp_path / "new")
    assert stored_users_of(again)
    pairs = [(user, "new") for user in users]
    np.testing.assert_array_equal(again.decision_function(pairs), new.decision_function(pairs))


@pytest.mark.parametrize("name", ["MMMF", "HMF", "OrdinalProbit"])
def test_to_memory_needs_no_folder(name: str, copied: Path) -> None:
    model = cofactor.load(copied / f"{name}-folder")
    expected = model.recommend(None, 3)
    model.to_memory().save(copied / "whole")
    assert stored_users_of(model), "a copy is returned"
    shutil.rmtree(copied / "big")
    whole = cofactor.load(copied / "whole")
    for one, other in zip(whole.recommend(None, 3), expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert whole.update([("new", ratings().items.ids[0])], [5]) is whole, "its ratings are in memory"


def test_a_model_and_its_folder_may_move_together(copied: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere(monkeypatch, place)
    model = cofactor.load(copied / "ALS-folder")
    assert model.stored_users_.folder.parent == copied / "big" / "users"
    assert model.ratings_.folder == copied / "big"


def test_a_model_without_its_ratings_says_what_to_do(
    copied: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere(monkeypatch, place)
    path = copied / "big" / "shards" / "0001" / "levels.npy"
    path.unlink()
    with pytest.warns(InputWarning, match=r"levels.npy: .*cannot leave out what users rated; put the folder back"):
        model = cofactor.load(copied / "ALS-memory")
    user = ratings().users.ids[0]
    for ask, otherwise in (
        (lambda: model.recommend([user], 3), r"pass exclude_seen=False, or put the folder back"),
        (lambda: model.fold_in([(user, ratings().items.ids[0])], [5], known="merge"), r"give known='replace', or put"),
        (lambda: model.explain(user, [ratings().items.ids[0]]), r"put the folder back .*\), or fit again"),
    ):
        with pytest.raises(InvalidInputError, match=rf"not as they were \(.*levels.npy: .*{otherwise}") as caught:
            ask()
        assert "ratings=True" not in str(caught.value)
    assert len(model.recommend([user], 3, exclude_seen=False)[0]) == 1
    lean = copied / "lean"
    model.save(lean, ratings=False)
    with pytest.raises(InvalidInputError, match="save the fitted model with ratings=True"):
        cofactor.load(lean).recommend([user], 3)


def test_a_model_may_move_alone(place: Path, tmp_path: Path) -> None:
    shutil.copy(place / "ALS-folder", tmp_path)
    assert cofactor.load(tmp_path / "ALS-folder").stored_users_.folder.parent == place / "big" / "users"


def _missing(users: Path) -> str:
    shutil.rmtree(users)
    return "what was found for users is not there; put the folder back as it was"


def _cut(users: Path) -> str:
    with (users / "U_.npy").open("r+b") as file:
        file.truncate(300)
    return r"U_.npy: is cut off: it has 300 bytes.*or fit again"


def _edited(users: Path) -> str:
    path = users / "manifest.json"
    path.write_text(path.read_text().replace('"float32"', '"float64"'))
    return "was changed after it was written"


def _of_another(users: Path) -> str:
    others = [path for path in users.parent.iterdir() if path != users]
    other = next(path for path in others if json.loads((path / "manifest.json").read_text())["model"] == "MMMF")
    shutil.rmtree(users)
    shutil.copytree(other, users)
    return "is not what ALS found for users"


@pytest.mark.parametrize("spoil", [_missing, _cut, _edited, _of_another])
def test_a_folder_that_has_changed_is_refused(
    spoil: Callable[[Path], str], copied: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere(monkeypatch, place)
    message = spoil(cofactor.load(copied / "ALS-folder").stored_users_.folder)
    with pytest.raises(InvalidInputError, match=message):
        cofactor.load(copied / "ALS-folder")


def test_verify_finds_a_changed_number(copied: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere(monkeypatch, place)
    stored = cofactor.load(copied / "ALS-folder").stored_users_
    stored.verify()
    with (stored.folder / "U_.npy").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x7f")
    with pytest.raises(InvalidInputError, match=r"U_.npy: its checksum is not that of the manifest.*or fit again"):
        stored.verify()


def test_after_more_ratings_it_still_predicts(copied: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere(monkeypatch, place)
    pairs = list(zip(ratings().users.ids, np.resize(ratings().items.ids, 60), strict=True))
    expected = cofactor.load(copied / "MMMF-folder").predict(pairs)
    append_files(write(copied / "more.csv", {"user": [1000], "item": [0], "rating": [5]}), copied / "big")
    with pytest.warns(InputWarning, match="have other users or items now.*cannot leave out what users rated"):
        model = cofactor.load(copied / "MMMF-folder")
    np.testing.assert_array_equal(model.predict(pairs), expected)


def test_the_size_decides_where_users_go(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sharded = ShardedRatings.open(copied / "big")
    assert MODELS["ALS"]().fit(sharded).stored_users_ is None
    monkeypatch.setattr("cofactor.ratings.sharded.MOST_IN_MEMORY", 60 * 3 * 4 - 1)
    stored = MODELS["ALS"]().fit(sharded).stored_users_
    assert stored is not None
    again = MODELS["ALS"]().fit(sharded).stored_users_
    assert again.folder == stored.folder, "the same fit has the same place"
    assert MODELS["ALS"]().fit(sharded.on(users="memory")).stored_users_ is None


def test_a_full_disk_leaves_nothing(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, *args: Any) -> None:
        with replacing(path) as stream:
            stream.write(b"some")
            raise OSError(28, "No space left on device", str(path))

    before = sorted(copied.rglob("*"))
    model = ALS(2, alpha=1.0, max_iter=3, random_state=0)
    monkeypatch.setattr("cofactor.ratings.shard_folder.write_joined", full)
    with pytest.raises(OSError, match="No space left"):
        model.fit(ShardedRatings.open(copied / "big").on(users="folder"))
    assert not hasattr(model, "U_")
    monkeypatch.undo()
    model.fit(ShardedRatings.open(copied / "big").on(users="folder", resume=True))
    new = set(copied.rglob("*")) - set(before)
    assert {path.parent.name for path in new} == {"users", model.stored_users_.folder.name}
    assert shard_folder.read_manifest(model.stored_users_.folder / "manifest.json")["model"] == "ALS"


def test_what_cannot_stay_in_a_folder_says_so(place: Path) -> None:
    with pytest.raises(InvalidInputError, match="only ratings in a folder"):
        ShardedRatings.from_ratings(ratings(), 2).on(users="folder")
    with pytest.raises(InvalidInputError, match="users='disk'"):
        ShardedRatings.open(place / "big").on(users="disk")
