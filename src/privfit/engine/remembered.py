"""Attributes that are computed when they are first asked for."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

Value = TypeVar("Value")


class remembered(Generic[Value]):
    """A property that is computed once and kept on its object; deleting or setting it is allowed.

    In Python 3.11, `functools.cached_property` takes a lock that all objects of a class share. If a process
    is forked while another thread holds that lock, the fork waits for it forever. This class has no lock: two
    threads that ask at the same time may both compute the value, and get the same result.
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self.compute = compute
        self.name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, owner: None, type_: type | None = None) -> Self: ...

    @overload
    def __get__(self, owner: object, type_: type | None = None) -> Value: ...

    def __get__(self, owner: object | None, type_: type | None = None) -> Self | Value:
        if owner is None:
            return self
        value = owner.__dict__[self.name] = self.compute(owner)  # Python finds this before the descriptor
        return value
