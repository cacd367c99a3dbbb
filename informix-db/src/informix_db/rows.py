"""Rows with names: `row_factory=Row` (or `dict`, or a function of one's own)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, ClassVar, cast

__all__ = ["Row", "RowFactory", "RowFactoryOption", "RowMaker", "row_maker"]

#: Makes a row out of the tuple of its values.
RowMaker = Callable[[tuple[Any, ...]], Any]
#: `Row`, `dict`, or a function: column names → (values → row).
RowFactory = Callable[[Sequence[str]], RowMaker]
#: What `row_factory=` takes: a type (`tuple`, `dict`, `Row`) or a function of one's own; None: that of the connection.
RowFactoryOption = type[tuple[Any, ...]] | type[dict[str, Any]] | RowFactory | None


class Row(tuple):  # type: ignore[type-arg]
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

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return tuple.__getitem__(self, self._find(key))
        return tuple.__getitem__(self, key)

    def __getattr__(self, name: str) -> Any:
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

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._names, tuple(self))


def _restore(names: tuple[str, ...], values: tuple[Any, ...]) -> Row:
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


def row_maker(factory: RowFactoryOption, names: Sequence[str]) -> RowMaker | None:
    """The function that makes rows for these columns; None for plain tuples."""
    if factory is None or factory is tuple:
        return None
    columns = tuple(names)
    if isinstance(factory, type) and issubclass(factory, Row):
        return make_row_class(columns)
    if isinstance(factory, type) and issubclass(factory, dict):
        return lambda values: factory(zip(columns, values, strict=True))
    return cast(RowFactory, factory)(columns)
