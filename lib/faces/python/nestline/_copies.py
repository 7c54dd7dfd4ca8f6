"""Copies and pickles of the classes, also of subclasses with attributes.

A state is the content (bytes, or a tuple), or with attributes a list: content, __dict__, slots.
"""

import copyreg
from collections.abc import Callable
from typing import Any


def _with_attributes(self: Any, content: Any) -> Any:
    names = copyreg._slotnames(type(self))  # type: ignore[attr-defined]
    slots = {name: getattr(self, name) for name in names if hasattr(self, name)}
    own = getattr(self, "__dict__", None)
    return [content, own, slots] if own or slots else content


def _give_attributes(self: Any, own: dict[str, Any] | None, slots: dict[str, Any]) -> None:
    if own is not None:
        if not isinstance(getattr(self, "__dict__", None), dict):
            raise TypeError("the state has attributes that the object cannot have")
        self.__dict__.update(own)
    for name, value in slots.items():
        setattr(self, name, value)


def _copy_by_state(self: Any) -> Any:
    """What copy.copy makes of an object that has no function of its own for that."""
    make, arguments, state = self.__reduce_ex__(2)[:3]
    made = make(*arguments)
    made.__setstate__(state)
    return made


def bind(kind: Any, has_content: Callable[[Any], bool], copied: Callable[[Any], Any] | None, doc: str) -> None:
    """Puts the functions in front of pybind11's two: its constructor __setstate__ would pass over an
    object that has its content in silence. copied is None where objects are their own copies."""
    content, construct = kind.__getstate__, kind.__setstate__

    def __copy__(self: Any) -> Any:
        if type(self) is not kind:
            return _copy_by_state(self)
        return copied(self) if copied else self

    def __getstate__(self: Any) -> Any:
        return _with_attributes(self, content(self))

    def __setstate__(self: Any, state: Any) -> None:
        if not isinstance(self, kind):
            raise TypeError("self is of another class")
        if has_content(self):
            raise TypeError("the object has its content: make another one")
        if not isinstance(state, list):
            construct(self, state)
            return
        if len(state) != 3 or not isinstance(state[1] or {}, dict) or not isinstance(state[2], dict):
            raise ValueError("not the state of an object of this class")
        construct(self, state[0])
        _give_attributes(self, *state[1:])

    def copy(self: Any) -> Any:
        return __copy__(self)

    copy.__doc__ = doc
    functions = [__copy__, __getstate__, __setstate__]
    for function in (*functions, copy) if copied else functions:
        function.__annotations__ = {}  # as of those of pybind11
        setattr(kind, function.__name__, function)
    if not copied:
        kind.__deepcopy__ = lambda self, memo: self


def bind_reduction(kind: Any) -> None:
    """For all classes: protocol 2 or later, and a sentence as TypeError."""

    def __reduce_ex__(self: Any, protocol: int) -> Any:
        return object.__reduce_ex__(self, max(protocol, 2))

    kind.__reduce_ex__ = __reduce_ex__
