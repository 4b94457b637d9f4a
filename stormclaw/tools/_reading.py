"""Turns the body of a web answer into text a model can read, or says what it is instead."""

from __future__ import annotations

import asyncio
import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from stormclaw.tools._apart import apart
from stormclaw.tools._fetching import Answer
from stormclaw.tools._html import stripped
from stormclaw.tools._text import HEAD_BYTES, binary_kind

MAX_PRETTY = 200_000
"""Bytes of JSON that are laid out anew."""
PAGE_SECONDS = 6.0
"""For turning a page into Markdown."""

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_BINARY = ("image/", "audio/", "video/", "font/", "application/zip", "application/pdf")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:-]+)", re.I)
_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.I)
_XML = re.compile(rb"<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]{2,40})", re.I)
_LOOKS_HTML = re.compile(rb"\s*(?:<!--.{0,500}?-->\s*)?<(?:!doctype\s+html|html|head|body)\b", re.I)
_MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_AS_WINDOWS: Mapping[str, str] = MappingProxyType(
    {"ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254"}
)
"""Names that the web uses for more letters than they hold."""
_NO_CHARSETS = frozenset(
    {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "utf_7", "mbcs"}
)


@dataclass(frozen=True, slots=True)
class Readable:
    """A body as text.

    Attributes:
        text: What it says; "" if it is no text.
        kind: What it is, in words: `text/html as Markdown`, `PNG image`.
        binary: It is no text.
    """

    text: str
    kind: str
    binary: bool = False


async def read_answer(answer: Answer) -> Readable:
    """The body as text: pages as Markdown, JSON laid out, other text by its charset."""
    media = answer.headers.get("content-type", "").partition(";")[0].strip().lower()[:100]
    body = answer.body
    if not body:
        return Readable("", media or "no content")
    name = charset(answer)
    wide = (codec_of(name) or "").startswith(("utf-16", "utf-32"))
    if kind := _no_text(media, body, wide=wide):
        return Readable("", kind, binary=True)
    text = decoded(body, name, whole=not answer.cut)
    if media in _HTML or (media in {"", "text/plain"} and _LOOKS_HTML.match(body)):
        return await _page(text, answer.url)
    if media == "application/json" or media.endswith("+json"):
        return Readable(_laid_out(text) if not answer.cut else text, media)
    return Readable(text, media or "text")


def charset(answer: Answer) -> str:
    """The name of the charset an answer claims: byte order mark, header, then the page itself."""
    for mark, name in _MARKS:
        if answer.body.startswith(mark):
            return name
    if found := _CHARSET.search(answer.headers.get("content-type", "")):
        return found[1]
    head = answer.body[:4096]
    inner = _META.search(head) or _XML.match(head)
    return inner[1].decode("ascii", "replace") if inner else ""


def codec_of(name: str) -> str | None:
    """Python's name of a charset that text may be in, None for anything else."""
    try:
        codec = codecs.lookup(name)
    except (LookupError, ValueError):
        return None
    if codec.name.replace("-", "_") in _NO_CHARSETS or not getattr(
        codec, "_is_text_encoding", True
    ):
        return None
    return _AS_WINDOWS.get(codec.name, codec.name)


def decoded(body: bytes, name: str, *, whole: bool = True) -> str:
    """The text of a body: as claimed where that fits, else in the charset that does.

    A claim of one of the old Western charsets is not believed of what is UTF-8.

    Args:
        body: The bytes.
        name: The claimed charset, "" for none.
        whole: False when the end may be missing in the middle of a letter.
    """
    claimed = codec_of(name) if name else None
    order = [claimed] if claimed else []
    order = ["utf-8", *order] if claimed in _AS_WINDOWS.values() else [*order, "utf-8"]
    for codec in (*order, "cp1252"):
        try:
            text = codecs.getincrementaldecoder(codec)().decode(body, whole)
        except UnicodeError:
            continue
        return text.removeprefix("\ufeff")
    return body.decode(claimed or "latin-1", "replace")


def _no_text(media: str, body: bytes, *, wide: bool) -> str:
    """What a body is if it is no text, "" if it is."""
    if wide or body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return ""
    if kind := binary_kind(body[:HEAD_BYTES]):
        return kind if kind != "binary data" else media or kind
    return media if media.startswith(_BINARY) and media != "image/svg+xml" else ""


async def _page(page: str, url: str) -> Readable:
    told = await apart(
        "_html:convert",
        url,
        given=page.encode("utf-8", "replace"),
        seconds=PAGE_SECONDS,
        most_bytes=4 * len(page) + 4_096,
    )
    if told.end == "done":
        return Readable(told.output.decode("utf-8", "replace"), "text/html as Markdown")
    text = await asyncio.to_thread(stripped, page)
    return Readable(text, "text/html as bare text, since its markup cannot be parsed")


def _laid_out(text: str) -> str:
    """JSON with line breaks; numbers and repeated keys stay as they are."""
    import msgspec

    if len(text) > MAX_PRETTY:
        return text
    try:
        return msgspec.json.format(text, indent=2)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return text
