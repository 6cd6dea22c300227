"""The thread that asks models: what it answers together, and whom an error or a wait concerns."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest
from tests.server.said import rows, rows_of

from cofactor.errors import InvalidInputError
from cofactor.server.batching import _BATCH, BatchQueue
from cofactor.server.operations import Limits, Operation, Query


class Doubling:
    """Answers twice a number, once it is let go; notes what it was asked at a time."""

    def __init__(self) -> None:
        self.free, self.rounds = threading.Event(), []
        self.alone = Operation("GET /alone", "", dict, dict, self.one)
        self.together = Operation("GET /together", "", dict, dict, self.one, reply_many=self.several)

    def one(self, question: Query) -> int:
        return self.several([question])[0]

    def several(self, questions: Sequence[Query]) -> list[int]:
        self.free.wait(30)
        self.rounds.append([question.id for question in questions])
        if "bad" in self.rounds[-1]:
            raise InvalidInputError("is no number", found="bad")
        return [2 * int(question.id) for question in questions]


async def outcomes(
    asking: BatchQueue, asked: Sequence[tuple[Operation, str, Any, float]], free: threading.Event
) -> Any:
    """Ask a first question, and the others while it waits; return what comes of each."""

    async def ask(operation: Operation, id_: str, what: Any, seconds: float) -> Any:
        found = await asking.answer(operation, Query({}, Limits(), what, id_), seconds)
        return msgspec.json.decode(found)

    with asking.begun():
        tasks = []
        for one in asked:
            tasks.append(asyncio.create_task(ask(*one)))
            await asyncio.sleep(0.01 if len(tasks) == 1 else 0)
        asyncio.get_running_loop().call_later(0.2, free.set)
        return await asyncio.gather(*tasks, return_exceptions=True)


def test_questions_that_differ_in_their_ids_alone_are_answered_together() -> None:
    doubling = Doubling()
    asked = [(doubling.together, str(k), {"n": 3}, 30.0) for k in range(5)]
    asked += [(doubling.together, "7", {"n": 4}, 30.0), (doubling.alone, "8", {"n": 3}, 30.0)]
    asked += [(doubling.alone, "9", {"n": 3}, 30.0)]
    found = asyncio.run(outcomes(BatchQueue(), asked, doubling.free))
    assert found == [0, 2, 4, 6, 8, 14, 16, 18]
    assert doubling.rounds == [["0"], ["1", "2", "3", "4"], ["7"], ["8"], ["9"]]


def test_no_more_than_some_are_answered_at_a_time() -> None:
    doubling = Doubling()
    asked = [(doubling.together, str(k), {}, 30.0) for k in range(_BATCH + 3)]
    assert asyncio.run(outcomes(BatchQueue(), asked, doubling.free)) == [2 * k for k in range(_BATCH + 3)]
    assert [len(one) for one in doubling.rounds] == [1, _BATCH, 2]


def test_a_question_that_cannot_be_answered_spoils_no_other() -> None:
    doubling = Doubling()
    asked = [(doubling.together, one, {}, 30.0) for one in ("1", "2", "bad", "3")]
    first, second, bad, third = asyncio.run(outcomes(BatchQueue(), asked, doubling.free))
    assert [first, second, third] == [2, 4, 6]
    assert isinstance(bad, InvalidInputError)


def test_what_nobody_waits_for_any_more_is_not_begun() -> None:
    doubling = Doubling()
    asked = [(doubling.together, one, {}, seconds) for one, seconds in (("1", 30.0), ("2", 0.05), ("3", 30.0))]
    first, late, third = asyncio.run(outcomes(BatchQueue(), asked, doubling.free))
    assert (first, third) == (2, 6)
    assert isinstance(late, TimeoutError)
    assert doubling.rounds == [["1"], ["3"]]


@pytest.mark.processes
def test_answers_to_many_at_once_are_those_to_each(server, models) -> None:
    known = models.stars.users_.ids[:40].tolist()
    users = [*known, 10_000, *known]

    def ask(user: int) -> Any:
        return server.ask("GET", f"/v1/users/{user}/recommendations?n=7")

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(ask, users))
    for user, answer in zip(users, found, strict=True):
        if user == 10_000:
            assert answer.status == 404
            assert answer.json["error"]["argument"] == "id"
        else:
            assert answer.json["user"] == user
            assert rows(answer.json) == rows_of(models.stars.recommend([user], 7), 0)
