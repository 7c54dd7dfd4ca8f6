"""What names of version 0.2 need beside the extension module: they give a DeprecationWarning."""

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


class OutcomeBase(enum.IntEnum, metaclass=_OutcomeType):
    """What Outcome is made of."""


class Stats(dict[str, Any]):
    """The figures of a store."""

    def __missing__(self, name: str) -> Any:
        if name == "questions":
            _warn("lookups")
            return self["lookups"]
        raise KeyError(name)
