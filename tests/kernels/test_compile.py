"""What every kernel must keep to."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import cofactor.kernels

FILES = sorted(Path(cofactor.kernels.__file__).parent.glob("*.py"))
#: Calls that are mere arithmetic, and do not keep a loop from being vectorized.
ARITHMETIC = {"abs", "min", "max", "sqrt", "type", "float64", "int64", "exponential", "logarithm", "range"}
#: Their sum is used within the loop, or where they store depends on the data: they are never vectorized.
SEQUENTIAL = {"_sort", "_try_step", "reduce_immediate"}


def innermost_loops(tree: ast.AST) -> Iterator[tuple[str, list[ast.AST]]]:
    """Yield the function and all nodes of every loop that has no loop inside."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for loop in ast.walk(function):
                if isinstance(loop, ast.For | ast.While):
                    nodes = [node for part in loop.body for node in ast.walk(part)]
                    if not any(isinstance(node, ast.For | ast.While) for node in nodes):
                        yield function.name, nodes


def offenders(source: str) -> list[str]:
    """Return the functions with a loop that adds up a number and stores into an array."""
    found = []
    for name, nodes in innermost_loops(ast.parse(source)):
        changes = [
            node for node in nodes if isinstance(node, ast.AugAssign) and not isinstance(node.value, ast.Constant)
        ]
        sums = [node for node in changes if isinstance(node.target, ast.Name)]
        targets = [t for node in nodes if isinstance(node, ast.Assign) for t in node.targets]
        stores = [t for t in [*targets, *(node.target for node in changes)] if isinstance(t, ast.Subscript)]
        calls = {
            node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            for node in nodes
            if isinstance(node, ast.Call)
        }
        if sums and stores and calls <= ARITHMETIC and name not in SEQUENTIAL:
            found.append(name)
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_sums_stand_apart_from_stores(path: Path) -> None:
    """Otherwise their order, so their last bits, would depend on where the arrays lie in memory."""
    assert offenders(path.read_text(encoding="utf-8")) == []


def test_a_sum_beside_a_store_is_found() -> None:
    bad = "def f(x, out):\n    s = 0.0\n    for k in range(len(x)):\n        out[k] = abs(x[k])\n        s += x[k]"
    assert offenders(bad) == ["f"]
