"""Reads bytes as text so that writing them back changes nothing that was not meant to change."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_BOMS: tuple[
    tuple[bytes, str], ...
] = (  # the four-byte marks first: one begins with a two-byte one
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"%PDF-", "PDF document"),
    (b"\x89PNG", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF87a", "GIF image"),
    (b"GIF89a", "GIF image"),
    (b"RIFF", "RIFF media file"),
    (b"PK\x03\x04", "ZIP archive"),
    (b"\x1f\x8b", "gzip archive"),
    (b"\xfd7zXZ", "xz archive"),
    (b"\x28\xb5\x2f\xfd", "zstd archive"),
    (b"\x7fELF", "ELF executable"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"\xca\xfe\xba\xbe", "Java class file"),
)

HEAD_BYTES = 65_536
MAX_ALIGNED = 4_000_000
"""Most pairs of lines worth comparing to see which of them stayed."""
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b")) + b"\x7f"
_LF_OR_CRLF = re.compile(r"(\r?\n)")
_CR = re.compile(r"(\r)")
_ANY_END = re.compile(r"(\r\n|\n|\r)")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Binary:
    """Bytes that are no text; `kind` in words: `PNG image`, `binary data`."""

    kind: str


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text and how it was written down.

    Attributes:
        text: With its own line endings, without byte order mark.
        encoding: Python's name of the codec.
        bom: The byte order mark it began with, empty if none.
    """

    text: str
    encoding: str = "utf-8"
    bom: bytes = b""

    def encode(self, text: str) -> bytes:
        """Other text written down in the same way.

        Raises:
            UnicodeEncodeError: The encoding has no such character.
        """
        if not self.text.startswith("\ufeff"):  # a second mark, where there is one, is text
            text = text.removeprefix("\ufeff")
        return self.bom + text.encode(self.encoding)


@dataclass(slots=True)
class Lines:
    """Text cut into lines; line `i` ends with `ends[i]`, the last one with nothing.

    A carriage return alone ends a line only where there is no line feed at all, so that line
    numbers are those of every other program.
    """

    texts: list[str]
    ends: list[str]

    @property
    def flat(self) -> str:
        """The text with plain line feeds."""
        return "\n".join(self.texts)

    @property
    def usual_end(self) -> str:
        """The most frequent line ending, `\\n` if there is none."""
        return max(("\n", "\r\n", "\r"), key=self.ends.count)

    @property
    def count(self) -> int:
        """Lines as people count them: what follows a last line ending is none."""
        return len(self.texts) - (self.texts[-1] == "")

    def join(self) -> str:
        """The text, every line with its own ending."""
        return "".join(map(str.__add__, self.texts, [*self.ends, ""]))


def decode(raw: bytes) -> Decoded | Binary:
    """The text in a file's bytes, or what they are instead."""
    for bom, encoding in _BOMS:
        if raw.startswith(bom):
            try:
                return Decoded(raw[len(bom) :].decode(encoding), encoding, bom)
            except UnicodeDecodeError:
                break
    if kind := binary_kind(raw[:HEAD_BYTES]):
        return Binary(kind)
    if b"\0" in raw:
        return Binary("binary data")
    for encoding in ("utf-8", "cp1252"):
        try:
            return Decoded(raw.decode(encoding), encoding)
        except UnicodeDecodeError:
            continue
    return Decoded(raw.decode("latin-1"), "latin-1")


def head_encoding(head: bytes) -> str:
    """Codec for a file that begins with `head`, byte order mark included."""
    for bom, encoding in _BOMS:
        if head.startswith(bom):
            return "utf-8-sig" if encoding == "utf-8" else encoding.rpartition("-")[0]
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def binary_kind(head: bytes) -> str:
    """What a file without byte order mark is if it is no text, "" if it may be text."""
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    if b"\0" in head:
        return "binary data"
    controls = len(head) - len(head.translate(None, _CONTROLS))
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
        most = 0.3
    except UnicodeDecodeError:
        most = 0.05
    return "binary data" if controls > most * len(head) else ""


def split_lines(text: str) -> Lines:
    """The text cut at its line endings; `split_lines(t).join() == t`."""
    parts = (_CR if "\n" not in text else _LF_OR_CRLF).split(text)
    return Lines(parts[0::2], parts[1::2])


def split_at_feeds(text: str) -> Lines:
    """The text cut where git and diff cut it: at line feeds, with or without carriage return."""
    parts = _LF_OR_CRLF.split(text)
    return Lines(parts[0::2], parts[1::2])


def split_everywhere(text: str) -> Lines:
    """The text cut at every kind of line ending, single carriage returns among line feeds too."""
    parts = _ANY_END.split(text)
    return Lines(parts[0::2], parts[1::2])


def weave(written: Sequence[str], kept: Lines, wanted: Sequence[str], end: str) -> Lines:
    """New lines in place of old ones, where whatever did not change stays as it is in the file.

    Args:
        written: The old lines as the model wrote them.
        kept: The same lines as they are in the file (as many).
        wanted: The new lines as the model wrote them.
        end: Line ending for lines that are new.
    """
    texts, ends = list(wanted), [end] * (len(wanted) - 1)
    for tag, old_from, old_to, new_from, new_to in aligned(written, wanted):
        if tag == "equal":
            texts[new_from:new_to] = kept.texts[old_from:old_to]
        for back in range(1, min(old_to - old_from, new_to - new_from) + 1):
            old, new = old_to - back, new_to - back
            if old < len(kept.ends) and new < len(ends):
                ends[new] = kept.ends[old]
    return Lines(texts, ends)


def aligned(
    written: Sequence[str], wanted: Sequence[str]
) -> Iterator[tuple[str, int, int, int, int]]:
    """Spans of lines and what they became, as difflib names it; like ends are never moved."""
    from difflib import SequenceMatcher

    most = min(len(written), len(wanted))
    head = next((i for i in range(most) if written[i] != wanted[i]), most)
    most -= head
    tail = next((i for i in range(most) if written[-1 - i] != wanted[-1 - i]), most)
    yield "equal", 0, head, 0, head
    one, other = written[head : len(written) - tail], wanted[head : len(wanted) - tail]
    if len(one) * len(other) > MAX_ALIGNED:
        yield "replace", head, head + len(one), head, head + len(other)
    else:
        matcher = SequenceMatcher(None, one, other, autojunk=len(other) > 2000)
        for tag, *span in matcher.get_opcodes():
            old_from, old_to, new_from, new_to = (place + head for place in span)
            yield tag, old_from, old_to, new_from, new_to
    yield "equal", len(written) - tail, len(written), len(wanted) - tail, len(wanted)


def cut_line(text: str, longest: int, size: int | None = None) -> str:
    """A line of at most `longest` characters, and how many of its `size` are left out."""
    left_out = (len(text) if size is None else size) - longest
    return f"{text[:longest]}… (+{left_out:,} characters)" if left_out > 0 else text


def printable(name: str) -> str:
    """A file name fit for a line of UTF-8 text: undecodable bytes and controls as escapes."""
    name = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return _UNPRINTABLE.sub(lambda found: f"\\x{ord(found[0]):02x}", name)


def counted(number: int, noun: str) -> str:
    """`1 line`, `1,204 lines`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size_of(count: int) -> str:
    """Bytes for people: `412 B`, `1.2 kB`, `3.4 MB`."""
    if count < 1000:
        return f"{count} B"
    amount, units = count / 1000, ["kB", "MB", "GB", "TB"]
    while amount >= 1000 and len(units) > 1:
        amount, units = amount / 1000, units[1:]
    return f"{amount:.1f} {units[0]}"
