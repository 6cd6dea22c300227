"""Parts: each owns a share of the data and answers questions; their answers are summed in a fixed order.

An algorithm in parts goes on in rounds. In each of them all parts are asked the same question, a mapping of names to
arrays and numbers, and the sum of their answers comes back. What a part keeps between rounds stays where the part is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from numpy.typing import NDArray

__all__ = ["Answer", "OneByOne", "Part", "Parts", "Question", "TreeSum"]

Question = Mapping[str, Any]
Answer = dict[str, NDArray[Any]]


class Part(Protocol):
    """One share of the data, and what an algorithm keeps there."""

    def answer(self, question: Question) -> Answer:
        """Answer a question. The arrays are new ones; those of all parts have the same names and shapes."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Return all that earlier questions changed."""

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Be as the part was whose `state` this is."""


class Parts(Protocol):
    """All parts, wherever they are."""

    def total(self, question: Question) -> Answer:
        """Ask all parts; return the sum of their answers."""

    def each(self, question: Question) -> Iterator[Answer]:
        """Ask all parts; return their answers one by one, in their order. Arrays may have other shapes in each."""


class TreeSum:
    """The sum of answers by a binary tree over their numbers, so that rounding does not depend on who adds what.

    Node j of level l is the sum of the answers j 2^l to (j + 1) 2^l - 1. Answers, or such nodes, are added in the order
    of their numbers; two neighbours of one level are added as soon as both are there. At the end what is left is added
    from the right.

    Examples
    --------
    >>> sums = TreeSum()
    >>> for k in range(3):
    ...     sums.add(k, {"x": np.array([10.0**k])})
    >>> [(first, level) for first, level, _ in sums.nodes]
    [(0, 1), (2, 0)]
    >>> sums.total()
    {'x': array([111.])}
    """

    def __init__(self) -> None:
        self.nodes: list[tuple[int, int, Answer]] = []

    def add(self, first: int, answer: Answer, level: int = 0) -> None:
        """Add an answer, or the node of a level, which begins with number `first`. Its arrays may be overwritten."""
        while self.nodes:
            left, below, other = self.nodes[-1]
            if below != level or left % (2 << level):
                break
            self.nodes.pop()
            first, level, answer = left, level + 1, _sum(other, answer)
        self.nodes.append((first, level, answer))

    def total(self) -> Answer:
        """Return the sum of all that was added."""
        *others, (_, _, result) = self.nodes
        for _, _, answer in reversed(others):
            result = _sum(answer, result)
        return result


def _sum(left: Answer, right: Answer) -> Answer:
    """Add the arrays of two answers; those of the left one are overwritten."""
    for name, array in left.items():
        array += right[name]
    return left


class OneByOne:
    """Parts in this process, asked one after the other.

    Parameters
    ----------
    make : callable
        ``make(k)`` returns part k.
    n_parts : int
        Number of parts.
    """

    def __init__(self, make: Callable[[int], Part], n_parts: int) -> None:
        self.parts = [make(k) for k in range(n_parts)]

    def total(self, question: Question) -> Answer:
        """Ask all parts; return the sum of their answers."""
        sums = TreeSum()
        for k, part in enumerate(self.parts):
            sums.add(k, part.answer(question))
        return sums.total()

    def each(self, question: Question) -> Iterator[Answer]:
        """Ask all parts; return their answers one by one."""
        return (part.answer(question) for part in self.parts)
