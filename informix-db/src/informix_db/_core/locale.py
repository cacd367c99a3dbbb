"""Informix locale names → Python codecs."""

from __future__ import annotations

import codecs

from ..errors import InterfaceError

#: Code-set part of a locale (after the dot, lower case) → codec. Numbers are IBM's code-set ids.
_CODE_SETS = {
    "8859-1": "iso-8859-1",
    "819": "iso-8859-1",
    "8859-2": "iso-8859-2",
    "912": "iso-8859-2",
    "8859-5": "iso-8859-5",
    "915": "iso-8859-5",
    "8859-6": "iso-8859-6",
    "1089": "iso-8859-6",
    "8859-7": "iso-8859-7",
    "813": "iso-8859-7",
    "8859-8": "iso-8859-8",
    "916": "iso-8859-8",
    "8859-9": "iso-8859-9",
    "920": "iso-8859-9",
    "8859-13": "iso-8859-13",
    "8859-15": "iso-8859-15",
    "923": "iso-8859-15",
    "utf8": "utf-8",
    "utf-8": "utf-8",
    "57372": "utf-8",
    "1250": "cp1250",
    "cp1250": "cp1250",
    "1251": "cp1251",
    "cp1251": "cp1251",
    "1252": "cp1252",
    "cp1252": "cp1252",
    "1253": "cp1253",
    "1254": "cp1254",
    "1255": "cp1255",
    "1256": "cp1256",
    "1257": "cp1257",
    "850": "cp850",
    "852": "cp852",
    "866": "cp866",
    "858": "cp858",
    "437": "cp437",
    "932": "cp932",
    "sjis-s": "cp932",
    "sjis": "shift_jis",
    "57350": "shift_jis",
    "ujis": "euc_jp",
    "57351": "euc_jp",
    "big5": "big5",
    "57352": "big5",
    "gb": "gb2312",
    "57357": "gb2312",
    "gb18030-2000": "gb18030",
    "5488": "gb18030",
    "ksc": "euc_kr",
    "57356": "euc_kr",
    "koi8-r": "koi8-r",
    "364": "ascii",
    "646": "ascii",
    "ascii": "ascii",
}


def encoding_of(locale: str) -> str:
    """The codec of a locale such as `en_US.utf8`, `de_DE.8859-15@euro`, `en_US.819`."""
    _, dot, code_set = locale.partition(".")
    code_set = code_set.partition("@")[0].strip().lower()
    if not dot or not code_set:
        raise InterfaceError(f"locale {locale!r} names no code set (expected language_COUNTRY.codeset)")
    found = _CODE_SETS.get(code_set)
    if found is None:
        try:
            found = codecs.lookup(code_set).name
        except LookupError:
            raise InterfaceError(f"the code set of locale {locale!r} is unknown to this driver") from None
    return found
