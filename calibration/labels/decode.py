"""Bytes of a text file -> text: UTF-8 with or without its mark, UTF-16 with one, else Windows code page 1250."""

import codecs

from .tables import enumerated

_LEGACY = "cp1250"


def decode(data: bytes, name: str, warnings: list[str]) -> str:
    """Decode a file; ValueError when it is neither one encoding nor another.

    Code page 1250 writes German and Polish letters right. Its neighbour 1252 (French, Spanish) cannot be told apart, so
    the choice is said in a warning with an example to look at.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _utf16(data)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        _refuse_damaged_utf8(data)
    try:
        text = data.decode(_LEGACY)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"line {line} is neither UTF-8 nor {_LEGACY} (byte 0x{data[error.start]:02x}); save the file as UTF-8"
        ) from None
    warnings.append(
        f"{name} is not UTF-8; read as {_LEGACY} (Central European Windows), for example {_example(text)!r}. If "
        f"letters are wrong, convert it first, such as: iconv -f cp1252 -t utf-8 {name} > utf8-{name}"
    )
    return text


def _utf16(data: bytes) -> str:
    try:
        return data.decode("utf-16")
    except UnicodeDecodeError:
        raise ValueError("begins with the mark of UTF-16 and is damaged; save the file as UTF-8") from None


def _refuse_damaged_utf8(data: bytes) -> None:
    """Refuse a file that is UTF-8 but for a few bytes: read as a code page, all its other letters would turn wrong."""
    text = data.decode("utf-8-sig", errors="replace")
    damaged = text.count("\ufffd")
    whole = sum(1 for character in text if character > "\x7f") - damaged
    if whole > damaged:
        lines = [str(n) for n, line in enumerate(text.split("\n"), start=1) if "\ufffd" in line]
        raise ValueError(f"mixes UTF-8 with other bytes on line {enumerated(lines)}; save the file as UTF-8")


def _example(text: str) -> str:
    return next(word for word in text.replace(",", " ").replace(";", " ").split() if not word.isascii())[:30]
