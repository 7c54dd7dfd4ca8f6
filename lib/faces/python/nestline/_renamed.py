"""Outcome and Stats, whose names of version 0.2 give a DeprecationWarning."""

import enum
import warnings
from typing import Any


def _warn(now: str) -> None:
    warnings.warn(f"Deprecated: {now} is its name.", DeprecationWarning, stacklevel=3)


class _OutcomeType(enum.EnumMeta):
    def __getattr__(cls, name: str) -> Any:
        if name == "copies":
            _warn("Outcome.too_many_copies")
            return cls["too_many_copies"]
        above = getattr(super(), "__getattr__", None)  # where members are found before Python 3.12
        if above is None:
            raise AttributeError(name)
        return above(name)


class Outcome(enum.IntEnum, metaclass=_OutcomeType):
    """How an insert ended; the numbers are those of C and C++.

    stored           the key is in the filter now
    present          insert_unique, and insert of an ExpiringFilter: it was found already
    full             there is no room: the key will be missed
    too_many_copies  its slots hold as many copies as they can, of this key or of one
                     that looks the same

    >>> filter = Filter(1000, fpr=0.0001)
    >>> filter.insert_unique("a", outcomes=True)
    <Outcome.stored: 1>
    >>> found = filter.insert_unique(["a", "b"], outcomes=True)
    >>> found, found == Outcome.present
    (array([2, 1], dtype=uint8), array([ True, False]))
    """

    __module__ = "nestline"
    stored = 1
    present = 2
    full = 3
    too_many_copies = 4


class Stats(dict[str, Any]):
    """The figures of a store."""

    def __missing__(self, name: str) -> Any:
        if name == "questions":
            _warn("lookups")
            return self["lookups"]
        raise KeyError(name)
