"""Rows of text ``1,3 5:0.2 7:1`` cut into labels, indices and the digits of values."""

import numpy as np
from numpy.typing import NDArray

from cofactor.kernels.compile import kernel

__all__ = ["scan_rows"]

_NEWLINE, _TAB, _RETURN, _SPACE = ord("\n"), ord("\t"), ord("\r"), ord(" ")
_COMMA, _COLON, _POINT, _PLUS, _MINUS, _ZERO, _NINE = (
    ord(","),
    ord(":"),
    ord("."),
    ord("+"),
    ord("-"),
    ord("0"),
    ord("9"),
)
_SMALL_E, _LARGE_E = ord("e"), ord("E")
_LARGEST = 2**31 - 2  # of an index or a label
_DIGITS = 15  # so many digits are always an exact float64


@kernel
def scan_rows(
    codes: NDArray[np.uint8],
    n_labels: NDArray[np.int64],
    labels: NDArray[np.int64],
    n_entries: NDArray[np.int64],
    indices: NDArray[np.int64],
    mantissas: NDArray[np.int64],
    exponents: NDArray[np.int64],
    spans: NDArray[np.int64],
) -> tuple[int, int]:
    """Cut whole lines into numbers; value k is ``mantissas[k] * 10**exponents[k]``.

    A value with more than 15 digits gets the exponent 10,000 in place of its own, and ``spans[k]`` tells where it is.

    Parameters
    ----------
    codes : ndarray of uint8
        Whole lines, each with its line feed.
    n_labels, n_entries : ndarray of shape (number of line feeds,), int64
        Filled with the numbers of labels and entries of each line.
    labels : ndarray of int64
        Filled with the labels; large enough is the number of commas and lines.
    indices, mantissas, exponents : ndarray of shape (number of colons,), int64
        Filled with the entries.
    spans : ndarray of shape (number of colons, 2), int64
        Filled, for values with too many digits, with the positions of their first and behind their last character.

    Returns
    -------
    filled_labels, filled_entries : int
        Their numbers; -1 and -1 if some line is not of this plain form.
    """
    position, line, label, entry = 0, 0, 0, 0
    while position < len(codes):
        row_labels, row_entries = label, entry
        while True:
            code = codes[position]
            if code in (_SPACE, _TAB, _RETURN):
                position += 1
                continue
            if code == _NEWLINE:
                position += 1
                break
            number, start = 0, position
            while _ZERO <= codes[position] <= _NINE and number <= _LARGEST:
                number = 10 * number + (codes[position] - _ZERO)
                position += 1
            if position == start or number > _LARGEST:
                return -1, -1
            code = codes[position]
            if code != _COLON:
                joined = start > 0 and codes[start - 1] == _COMMA and label > row_labels
                if entry > row_entries or (label > row_labels and not joined):
                    return -1, -1
                labels[label] = number
                label += 1
                if code == _COMMA:
                    position += 1
                    if not _ZERO <= codes[position] <= _NINE:
                        return -1, -1
                elif code not in (_SPACE, _TAB, _RETURN, _NEWLINE):
                    return -1, -1
                continue
            if start > 0 and codes[start - 1] == _COMMA:
                return -1, -1
            position += 1
            indices[entry] = number
            first = position
            sign = -1 if codes[position] == _MINUS else 1
            if codes[position] == _MINUS or codes[position] == _PLUS:
                position += 1
            mantissa, exponent, digits, significant, fraction = 0, 0, 0, 0, False
            while True:
                code = codes[position]
                if _ZERO <= code <= _NINE:
                    digits += 1
                    if significant or code != _ZERO:
                        significant += 1
                    if significant <= _DIGITS:
                        mantissa = 10 * mantissa + (code - _ZERO)
                        exponent -= fraction
                elif code == _POINT and not fraction:
                    fraction = True
                else:
                    break
                position += 1
            if digits == 0:
                return -1, -1
            if code in (_SMALL_E, _LARGE_E):
                position += 1
                down = codes[position] == _MINUS
                if codes[position] == _MINUS or codes[position] == _PLUS:
                    position += 1
                power, start = 0, position
                while _ZERO <= codes[position] <= _NINE and power < 1000:
                    power = 10 * power + (codes[position] - _ZERO)
                    position += 1
                if position == start:
                    return -1, -1
                exponent += -power if down else power
            if codes[position] not in (_SPACE, _TAB, _RETURN, _NEWLINE):
                return -1, -1
            mantissas[entry] = sign * mantissa
            exponents[entry] = exponent if significant <= _DIGITS else 10_000
            spans[entry, 0], spans[entry, 1] = first, position
            entry += 1
        n_labels[line] = label - row_labels
        n_entries[line] = entry - row_entries
        line += 1
    return label, entry
