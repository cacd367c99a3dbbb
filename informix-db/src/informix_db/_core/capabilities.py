"""What client and server agreed on. The layouts of later messages follow these bits, and nothing else.

Bits count from the left: bit 0 is 0x80 of byte 0. A bit is in force when both sides offered it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

#: What this driver offers. Eight bytes: the form that every server since 12.10 has been seen to accept.
OFFER = bytes.fromhex("fffc7ffc3c8caa97")
#: The same with the ninth byte that newer clients add: int tuple sizes (69) and 8-byte row counts (70).
OFFER_WIDE = OFFER + b"\x06"

VARCHAR_VAR_LEN = 13
LONG_ID = 18
DESCRIBE_INPUT = 34
LVARCHAR_GT_2K = 37
PAM = 44
FOUR_BYTE_OFFSET = 50
GLS = 51
NAMED_PARAMETERS = 52
BIGINT = 54
SAVEPOINT = 56
USVER = 2
REMOVE_64K_LIMIT = 62
TWO_GB_FETCH_BUFFER = 63
WIDE_TUPLE_SIZE = 69
WIDE_ROW_COUNT = 70


@lru_cache(maxsize=16)
def mask_bits(mask: bytes) -> frozenset[int]:
    """The numbers of the bits that are set."""
    return frozenset(i for i in range(len(mask) * 8) if mask[i >> 3] & (0x80 >> (i & 7)))


@dataclass(frozen=True)
class ServerCapabilities:
    """What the server said at login and in the capability exchange; `bits` are those in force (both sides)."""

    bits: frozenset[int] = field(default_factory=frozenset)
    raw_mask: bytes = b""
    cap_1: int = 0
    cap_2: int = 0
    cap_3: int = 0
    server_version: str = ""
    serial_number: str = ""
    applid_name: str = ""

    @classmethod
    def from_wire(
        cls,
        raw_mask: bytes,
        *,
        offer: bytes = OFFER,
        cap_1: int = 0,
        cap_2: int = 0,
        cap_3: int = 0,
        server_version: str = "",
        serial_number: str = "",
        applid_name: str = "",
    ) -> ServerCapabilities:
        """From the mask of the server's PROTOCOLS answer and the client's offer."""
        return _capabilities(raw_mask, offer, cap_1, cap_2, cap_3, server_version, serial_number, applid_name)

    def has(self, bit: int) -> bool:
        """True when capability `bit` is in force."""
        return bit in self.bits

    @property
    def usver(self) -> bool:
        return USVER in self.bits

    @property
    def long_id(self) -> bool:
        return LONG_ID in self.bits

    @property
    def varchar_var_len(self) -> bool:
        return VARCHAR_VAR_LEN in self.bits

    @property
    def describe_input(self) -> bool:
        return DESCRIBE_INPUT in self.bits

    @property
    def lvarchar_gt_2k(self) -> bool:
        return LVARCHAR_GT_2K in self.bits

    @property
    def four_byte_offset(self) -> bool:
        return FOUR_BYTE_OFFSET in self.bits

    @property
    def gls(self) -> bool:
        return GLS in self.bits

    @property
    def named_parameters(self) -> bool:
        return NAMED_PARAMETERS in self.bits

    @property
    def bigint(self) -> bool:
        return BIGINT in self.bits

    @property
    def savepoint(self) -> bool:
        return SAVEPOINT in self.bits

    @property
    def remove_64k_limit(self) -> bool:
        return REMOVE_64K_LIMIT in self.bits

    @property
    def two_gb_fetch_buffer(self) -> bool:
        return TWO_GB_FETCH_BUFFER in self.bits

    @property
    def enhanced_protocol(self) -> bool:
        """True for the protocol generation that this driver speaks (Cap_1 = 316)."""
        return self.cap_1 == 316

    def violated_assumptions(self) -> list[str]:
        """Why this server cannot be talked to: layouts that this driver does not know. Empty when all is well."""
        missing = []
        if VARCHAR_VAR_LEN not in self.bits:
            missing.append("capability 13 (VARCHAR of varying length in rows) is not offered")
        if FOUR_BYTE_OFFSET not in self.bits:
            missing.append("capability 50 (four-byte offsets in DESCRIBE) is not offered")
        return missing


@lru_cache(maxsize=8)
def _capabilities(raw_mask: bytes, offer: bytes, *said: Any) -> ServerCapabilities:
    """A server says the same to every client."""
    return ServerCapabilities(mask_bits(raw_mask) & mask_bits(offer), raw_mask, *said)


@dataclass(frozen=True)
class Layout:
    """The layouts in force, as the parsers and builders ask for them."""

    #: SQL text has an int length and errors an int position (bit 62), not shorts.
    long_sql: bool = True
    #: DESCRIBE gives the tuple size as int (bit 69), not short.
    wide_tuple_size: bool = False
    #: DONE gives rows and rowid as 8 bytes (bit 70), not 4.
    wide_row_count: bool = False
    #: BIGINT parameters may be sent (bit 54).
    bigint: bool = True
    #: Largest fetch buffer that may be asked for.
    max_fetch_buffer: int = 1 << 20

    @classmethod
    @lru_cache(maxsize=8)
    def of(cls, caps: ServerCapabilities) -> Layout:
        return cls(
            long_sql=caps.has(REMOVE_64K_LIMIT),
            wide_tuple_size=caps.has(WIDE_TUPLE_SIZE),
            wide_row_count=caps.has(WIDE_ROW_COUNT),
            bigint=caps.has(BIGINT),
            max_fetch_buffer=(64 << 20) if caps.has(TWO_GB_FETCH_BUFFER) else 32767,
        )
