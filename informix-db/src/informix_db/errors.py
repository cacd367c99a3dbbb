"""The exceptions of PEP 249, carrying what an Informix server says about a failure.

A server error has four numbers and a name: the SQLCODE, the ISAM code below it, the 1-based position in the
statement text, and the object the message is about. `_core/errcodes.py` turns the SQLCODE into a class and a
sentence; the rest is kept as attributes, so that a program can decide without parsing text.
"""

from __future__ import annotations

import builtins

__all__ = [
    "DataError",
    "DatabaseError",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "PoolClosedError",
    "PoolTimeoutError",
    "ProgrammingError",
    "ProtocolError",
    "QueryCanceledError",
    "StatementTimeoutError",
    "Warning",
]


class Warning(builtins.Warning):
    """Something worth telling that is not an error."""


class Error(Exception):
    """Base of every error of this package.

    `sqlcode` is the server's SQLCODE (negative) or None when the driver itself raised the error; `isamcode` the
    ISAM code below it (0 = none); `offset` the 1-based position in the statement text (0 = unknown);
    `object_name` the table, column or constraint the message is about (may be empty).
    """

    sqlcode: int | None = None
    isamcode: int = 0
    offset: int = 0
    object_name: str = ""
    #: True when the same statement may succeed if the transaction is run again (deadlock, lock time-out).
    retryable: bool = False
    #: True when the session is gone: the connection has been closed.
    session_dead: bool = False
    #: For `executemany`: the 0-based index of the parameter row that failed, when the server's answer tells.
    row_index: int | None = None

    @property
    def near(self) -> str:
        """`object_name` by the name that `informix-driver` has for it."""
        return self.object_name

    def __str__(self) -> str:
        text = super().__str__()
        return text if self.row_index is None else f"{text} (row {self.row_index + 1} of the batch)"


class InterfaceError(Error):
    """The driver was used wrongly, or the peer does not speak the protocol."""


class ProtocolError(InterfaceError):
    """The server sent bytes that are not SQLI as negotiated. The connection is closed."""


class DatabaseError(Error):
    """An error that the database reported."""


class DataError(DatabaseError):
    """A value does not fit its type or cannot be converted."""


class OperationalError(DatabaseError):
    """The server's operation failed for a reason outside the statement: connection, locks, space, time."""


class IntegrityError(DatabaseError):
    """A constraint was violated."""


class InternalError(DatabaseError):
    """The server found itself in a wrong state (for example a cursor that is not open)."""


class ProgrammingError(DatabaseError):
    """The statement is wrong: syntax, unknown names, missing privileges, wrong number of parameters."""


class NotSupportedError(DatabaseError):
    """Something that the server or this driver does not do."""


class QueryCanceledError(OperationalError):
    """The statement was cancelled (SQLCODE -213)."""


class StatementTimeoutError(QueryCanceledError):
    """The statement ran longer than its time-out and was cancelled."""


class PoolClosedError(InterfaceError):
    """The pool has been closed."""


class PoolTimeoutError(OperationalError):
    """No connection became free in time."""
