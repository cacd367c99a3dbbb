"""The base-100 numbers that DECIMAL, MONEY, DATETIME and INTERVAL are made of.

Byte 0 is sign and exponent, then base-100 digits ("pairs"), normalised so that the first pair is not zero:
value = 0.d1d2d3… × 100^e. Negative values store the exponent inverted and the pairs complemented, so that bytes
compare like the values. Converting pair by pair would cost a Python operation per pair; three translation tables do
all pairs in one call, and `bytes.hex` turns pairs into decimal digits.
"""

from __future__ import annotations

# Pair → two BCD digits; everything that is no pair becomes 0xff, whose "ff" no number parser accepts.
BCD = bytes(((b // 10) << 4) | (b % 10) if b < 100 else 0xFF for b in range(256))
# Two BCD digits → pair, the way back.
_PAIR = bytes((b >> 4) * 10 + (b & 15) if (b >> 4) < 10 and (b & 15) < 10 else 0xFF for b in range(256))
_NINES = bytes(99 - b if b < 100 else 0xFF for b in range(256))


def is_null(raw: bytes) -> bool:
    """All bytes zero. (1e125 negative begins with one zero byte, so one byte does not tell.)"""
    return not raw.strip(b"\0")


def split(raw: bytes) -> tuple[bool, int, bytes]:
    """(negative, exponent, pairs) of a value that is not NULL; pairs have no trailing zeros and may be empty.

    Raises ValueError when a byte is no pair.
    """
    head = raw[0]
    pairs = raw[1:].rstrip(b"\0")
    if head & 0x80:
        if pairs and max(pairs) > 99:
            raise ValueError(f"not base-100 digits: {raw.hex()}")
        return False, (head & 0x7F) - 64, pairs
    if not pairs or max(pairs) > 100:
        raise ValueError(f"not base-100 digits: {raw.hex()}")
    if max(pairs[:-1], default=0) > 99:
        raise ValueError(f"not base-100 digits: {raw.hex()}")
    return True, (head ^ 0x7F) - 64, pairs[:-1].translate(_NINES) + bytes((100 - pairs[-1],))


def digits(raw: bytes) -> tuple[str, int, str]:
    """("-" or "", exponent, decimal digits) of a value that is not NULL: what `split` gives, as digits.

    No check here: a byte that is no pair shows as "f" in the digits.
    """
    head = raw[0]
    if head & 0x80:
        return "", (head & 0x7F) - 64, raw[1:].translate(BCD).hex()
    pairs = raw[1:].rstrip(b"\0")
    if not pairs:
        raise ValueError(f"not a base-100 number: {raw.hex()}")
    return "-", (head ^ 0x7F) - 64, pairs[:-1].translate(_NINES).translate(BCD).hex() + f"{100 - pairs[-1]:02d}"


def join(negative: bool, exponent: int, pairs: bytes, width: int = 0) -> bytes:
    """The bytes of a number; leading zero pairs are normalised away, zeros are appended up to `width` bytes.

    Trailing zero pairs that are given stay. Raises ValueError when the exponent does not fit.
    """
    kept = pairs.lstrip(b"\0")
    exponent -= len(pairs) - len(kept)
    if not kept:
        return b"\x80".ljust(max(width, 1), b"\0")
    if not -64 <= exponent <= 63:
        raise ValueError("the number is outside 1e-130 … 1e126")
    if not negative:
        return bytes((0x80 | (exponent + 64),)).ljust(1) + kept.ljust(max(width - 1, 0), b"\0")
    body = kept.rstrip(b"\0")
    flipped = body[:-1].translate(_NINES) + bytes((100 - body[-1],))
    head = (exponent + 64) ^ 0x7F
    return bytes((head,)) + flipped.ljust(max(width - 1, len(kept)), b"\0")


def pairs_of(text: str) -> bytes:
    """Decimal digits (an even number of them) → pairs."""
    return bytes.fromhex(text).translate(_PAIR)
