"""Windows over a text that is longer than a model's positions."""

from attnscope.errors import InputError


def windows(length: int, size: int, stride: int) -> list[slice]:
    """Windows of `size` tokens, each `stride` after the one before; together they cover all `length` tokens.

    The last one is moved back to end with the text, so that it has as much context as the others. A text that
    fits, even an empty one, is a single window.
    """
    _check(length, size, stride)
    last = max(0, length - size)
    starts = [*range(0, last, stride), last]
    return [slice(start, min(start + size, length)) for start in starts]


def _check(length: int, size: int, stride: int) -> None:
    if length < 0:
        raise InputError(f"length must be 0 or more, but is {length}")
    if size < 1:
        raise InputError(f"size must be 1 or more tokens, but is {size}; does the model leave any room for the text?")
    if stride < 1:
        raise InputError(f"stride must be 1 or more tokens, but is {stride}")
    if stride > size:
        raise InputError(
            f"stride must be at most the size of a window, {size}, but is {stride}:"
            " the tokens between two windows would be left out"
        )
