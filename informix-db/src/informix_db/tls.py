"""TLS: verified unless somebody says otherwise in so many words."""

from __future__ import annotations

import ssl

from .errors import InterfaceError

#: The word that turns verification off.
INSECURE = "insecure-no-verification"

TLSOption = bool | str | ssl.SSLContext


def make_context(tls: TLSOption, *, ca_file: str | None = None) -> ssl.SSLContext | None:
    """The context for the `tls` argument of `connect`.

    False: no TLS. True: TLS, the server's certificate and host name are verified against the system's authorities or
    `ca_file`. An `ssl.SSLContext` is used as it is. Only the string "insecure-no-verification" turns verification off.
    """
    if isinstance(tls, ssl.SSLContext):
        return tls
    if tls is False:
        return None
    if tls is True:
        return ssl.create_default_context(cafile=ca_file)
    if tls == INSECURE:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    raise InterfaceError(f"tls must be True, False, an ssl.SSLContext or {INSECURE!r}, not {tls!r}")
