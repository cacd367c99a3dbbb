"""The arguments of `connect`, checked once, for both worlds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypedDict

from ._core.locale import encoding_of
from .errors import InterfaceError
from .rows import RowFactoryOption
from .tls import TLSOption

#: What every SQLI client sends about itself unless the caller says otherwise.
_ENVIRONMENT = {
    "DBPATH": ".",
    "CLNT_PAM_CAPABLE": "1",
    "DBDATE": "Y4MD-",
    "IFX_UPDDESC": "1",
    "NODEFDAC": "no",
}
_INFO = {"DBTEMP": "/tmp", "SUBQCACHESZ": "10"}


class PlainConnectOptions(TypedDict, total=False):
    """Arguments of `connect` beyond where to, as whom, and what rows are; see there."""

    connect_timeout: float | None
    read_timeout: float | None
    statement_timeout: float | None
    keepalive: bool
    client_locale: str
    db_locale: str | None
    env: dict[str, str] | None
    autocommit: bool
    tls: TLSOption
    tls_server_hostname: str | None
    tls_ca_file: str | None
    fetch_buffer: int
    statement_cache: int
    wide_counts: bool


class MoreConnectOptions(PlainConnectOptions, total=False):
    """Arguments of `connect` beyond where to and as whom; see there."""

    row_factory: RowFactoryOption


class ConnectOptions(MoreConnectOptions, total=False):
    """Arguments of `connect`."""

    host: str
    port: int
    user: str
    password: str | None
    database: str | None
    server: str


class PlainPoolOptions(PlainConnectOptions, total=False):
    """Arguments of `create_pool` without what rows are."""

    host: str
    port: int
    user: str
    password: str | None
    database: str | None
    server: str
    min_size: int
    max_size: int
    acquire_timeout: float | None
    max_idle: float | None
    max_lifetime: float | None
    check_after: float | None


class PoolOptions(PlainPoolOptions, total=False):
    """Arguments of `create_pool`."""

    row_factory: RowFactoryOption


def check_names(given: Iterable[str]) -> None:
    """TypeError for what is no argument of `connect`: a pool would find out with its first connection only."""
    classes = (ConnectOptions, MoreConnectOptions, PlainConnectOptions)
    known = {name for options in classes for name in options.__annotations__}
    unknown = sorted(set(given) - known)
    if unknown:
        raise TypeError(f"unknown arguments: {', '.join(unknown)}")


@dataclass
class Options:
    """Arguments of `connect`; see there."""

    host: str
    port: int
    user: str
    password: str | None
    database: str | None = None
    server: str = "informix"
    connect_timeout: float | None = None
    read_timeout: float | None = None
    statement_timeout: float | None = None
    keepalive: bool = False
    client_locale: str = "en_US.8859-1"
    db_locale: str | None = None
    env: dict[str, str] | None = None
    autocommit: bool = False
    row_factory: RowFactoryOption = None
    tls: TLSOption = False
    tls_server_hostname: str | None = None
    tls_ca_file: str | None = None
    fetch_buffer: int = 256 << 10
    statement_cache: int = 64
    wide_counts: bool = False
    encoding: str = field(init=False)
    environment: dict[str, str] = field(init=False)
    info: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.port, int) or not 0 < self.port < 65536:
            raise InterfaceError(f"port must be 1 … 65535, not {self.port!r}")
        if not self.user:
            raise InterfaceError("user is missing")
        for name in ("connect_timeout", "read_timeout", "statement_timeout"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InterfaceError(f"{name} must be positive or None, not {value!r}")
        if not 1024 <= self.fetch_buffer <= 64 << 20:
            raise InterfaceError("fetch_buffer must be between 1024 bytes and 64 MiB")
        self.encoding = encoding_of(self.client_locale)
        self.environment = dict(_ENVIRONMENT, CLIENT_LOCALE=self.client_locale)
        if self.db_locale is not None and self.db_locale != "auto":
            self.environment["DB_LOCALE"] = self.db_locale
        self.environment.update(self.env or {})
        self.info = dict(_INFO)
