"""Rows with names: `row_factory=Row` (or `dict`, or a function of one's own).

Connections and cursors are generic in the type of their rows, which the row factory decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, SupportsIndex, cast, overload

from .values import Value

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    #: The type of the rows of a connection or cursor.
    R = TypeVar("R", default=tuple[Value, ...])
    M = TypeVar("M", default=tuple[Value, ...])
    #: A class of rows.
    N = TypeVar("N", bound=tuple[Value, ...] | dict[str, Value])
else:
    from typing import TypeVar

    R = TypeVar("R")
    M = TypeVar("M")
    N = TypeVar("N")

__all__ = ["Row", "RowFactory", "RowFactoryOption", "RowMaker", "Values", "row_maker"]

#: The values of a row, as they arrive.
Values = tuple[Value, ...]
#: Makes a row out of the tuple of its values.
RowMaker = Callable[[Values], R]
#: A function: column names → (values → row).
RowFactory = Callable[[Sequence[str]], Callable[[Values], R]]
#: What `row_factory=` takes: a type (`tuple`, `dict`, `Row`) or a function of one's own; None: that of the connection.
RowFactoryOption = type[Values] | type[dict[str, Value]] | RowFactory[object] | None


class Row(tuple[Value, ...]):
    """A tuple whose values can be had by position, by `row["name"]` and by `row.name`.

    Names are matched exactly, then without regard to case. A name that a tuple already has as a method (`count`,
    `index`, `keys`) is reachable by subscript only; of columns with the same name the first counts.
    """

    __slots__ = ()
    _names: ClassVar[tuple[str, ...]] = ()
    _index: ClassVar[dict[str, int]] = {}

    def keys(self) -> tuple[str, ...]:
        """The column names."""
        return self._names

    @overload
    def __getitem__(self, key: SupportsIndex | str) -> Value: ...

    @overload
    def __getitem__(self, key: slice) -> Values: ...

    def __getitem__(self, key: SupportsIndex | str | slice) -> Value | Values:
        if isinstance(key, str):
            return tuple.__getitem__(self, self._find(key))
        return tuple.__getitem__(self, key)

    def __getattr__(self, name: str) -> Value:
        try:
            return tuple.__getitem__(self, self._find(name))
        except KeyError:
            raise AttributeError(f"the row has no column {name!r}") from None

    def _find(self, name: str) -> int:
        index = self._index.get(name)
        if index is None:
            index = self._index.get(name.lower())
            if index is None:
                raise KeyError(name)
        return index

    def __repr__(self) -> str:
        pairs = zip(self._names, self, strict=False)
        return "Row(" + ", ".join(f"{name}={value!r}" for name, value in pairs) + ")"

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (self._names, tuple(self))


def _restore(names: tuple[str, ...], values: Values) -> Row:
    return make_row_class(names)(values)


@lru_cache(maxsize=256)
def make_row_class(names: tuple[str, ...]) -> type[Row]:
    """The subclass of `Row` for these column names."""
    index: dict[str, int] = {}
    for position, name in enumerate(names):
        index.setdefault(name, position)
    for position, name in enumerate(names):
        index.setdefault(name.lower(), position)
    return type("Row", (Row,), {"__slots__": (), "_names": names, "_index": index})


def row_maker(factory: RowFactoryOption, names: Sequence[str]) -> Callable[[Values], Any] | None:
    """The function that makes rows for these columns; None for plain tuples."""
    if factory is None or factory is tuple:
        return None
    columns = tuple(names)
    if isinstance(factory, type) and issubclass(factory, Row):
        return make_row_class(columns)
    if isinstance(factory, type) and issubclass(factory, dict):
        return lambda values: factory(zip(columns, values, strict=True))
    return cast("RowFactory[object]", factory)(columns)
