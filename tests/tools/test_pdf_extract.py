"""pdf_extract: PDFs made here, whole, broken, locked, scanned and hostile."""

from __future__ import annotations

import os
import zlib
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from pypdf import PdfReader, PdfWriter

from stormclaw.errors import ToolFailure
from stormclaw.protocol.effects import Reads
from stormclaw.protocol.tool import ToolContext, ToolResult
from stormclaw.tools import pdf_extract

Call = Callable[..., Awaitable[ToolResult]]
Narrow = Callable[..., ToolContext]


def pdf(*pages: str, filtered: bytes | None = None) -> bytes:
    """A PDF with one line of text on each page; `filtered` is a packed stream for all of them."""
    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for index, text in enumerate(pages):
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * index} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        drawn = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode() if text else b""
        content, kind = (drawn, b"") if filtered is None else (filtered, b" /Filter /FlateDecode")
        head = b"<< /Length %d%s >>" % (len(content), kind)
        objects.append(head + b"\nstream\n" + content + b"\nendstream")
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n" % number + body + b"\nendobj\n"
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\n" % (len(objects) + 1)
    return bytes(out + b"startxref\n%d\n%%%%EOF\n" % start)


@pytest.fixture
def report(ctx: ToolContext) -> Path:
    path = ctx.workspace / "report.pdf"
    path.write_bytes(pdf("Hello one", "Hello two", "Hello three", "Hello four"))
    return path


async def test_all_pages(call: Call, ctx: ToolContext, report: Path) -> None:
    result = await call("pdf_extract", path="report.pdf")
    assert result.output == (
        "--- page 1 of 4 ---\nHello one\n--- page 2 of 4 ---\nHello two\n"
        "--- page 3 of 4 ---\nHello three\n--- page 4 of 4 ---\nHello four"
    )
    assert (result.summary, result.metadata) == ("4 pages, 4 pages shown", {"pages": 4})
    args = pdf_extract.Args("report.pdf", "2")
    assert pdf_extract.TOOL.effects(args, ctx) == (Reads(report),)
    assert pdf_extract.TOOL.headline(args).object == "report.pdf"


@pytest.mark.parametrize(
    ("pages", "shown"),
    [
        ("2", [2]), ("2-3", [2, 3]), ("3-", [3, 4]), ("-2", [1, 2]), ("4,1", [1, 4]),
        ("1-2, 2-3", [1, 2, 3]), (" 1 - 2 ", [1, 2]), ("4-99", [4]), ("1-,3", [1, 2, 3, 4]),
        ("", [1, 2, 3, 4]),
    ],
)  # fmt: skip
async def test_some_pages(call: Call, report: Path, pages: str, shown: list[int]) -> None:
    result = await call("pdf_extract", path=str(report), pages=pages)
    marks = [line for line in result.output.splitlines() if line.startswith("---")]
    assert marks == [f"--- page {number} of 4 ---" for number in shown]


@pytest.mark.parametrize("pages", ["0", "3-2", "x", "-", "1;2", "1--2", ",", "1,x", "²", "9999999"])
async def test_pages_that_make_no_sense(call: Call, report: Path, pages: str) -> None:
    with pytest.raises(ToolFailure, match="`pages` must name pages from 1"):
        await call("pdf_extract", path="report.pdf", pages=pages)


@pytest.mark.parametrize(
    ("pages", "spans"),
    [("3,1-2", ((1, 3),)), ("5-,1", ((1, 1), (5, 0))), ("2-,5", ((2, 0),)), ("1-9,3-4", ((1, 9),))],
)
def test_pages_are_read_once_and_in_order(pages: str, spans: object) -> None:
    assert pdf_extract.spans(pages) == spans


async def test_pages_there_are_not(call: Call, report: Path) -> None:
    with pytest.raises(ToolFailure, match="has 4 pages; there is none of those asked for"):
        await call("pdf_extract", path="report.pdf", pages="5-9")


async def test_a_long_document_is_read_in_parts(call: Call, narrow: Narrow, report: Path) -> None:
    tight = narrow(max_output_chars=70)
    result = await call("pdf_extract", ctx=tight, path="report.pdf")
    assert result.output.endswith("Hello two\n… not shown: go on with pages=3-4")
    result = await call("pdf_extract", ctx=tight, path="report.pdf", pages="3-4")
    assert "Hello four" in result.output
    tiny = await call("pdf_extract", ctx=narrow(max_output_chars=25), path="report.pdf")
    assert tiny.output.startswith("--- page 1 of 4 ---\nHell\n… this page goes on\n")
    assert tiny.output.endswith("go on with pages=2-4")


async def test_a_scanned_document(call: Call, ctx: ToolContext) -> None:
    (ctx.workspace / "scan.pdf").write_bytes(pdf("", ""))
    with pytest.raises(ToolFailure, match="no text on 2 pages: it is probably scanned"):
        await call("pdf_extract", path="scan.pdf")


async def test_an_empty_page_among_others(call: Call, ctx: ToolContext) -> None:
    (ctx.workspace / "a.pdf").write_bytes(pdf("one", "", "three"))
    result = await call("pdf_extract", path="a.pdf")
    assert "--- page 2 of 3 ---\n(no text)\n--- page 3" in result.output


@pytest.mark.parametrize(("password", "opens"), [("secret", False), ("", True)])
async def test_an_encrypted_document(
    call: Call, ctx: ToolContext, report: Path, password: str, opens: bool
) -> None:
    writer = PdfWriter(clone_from=PdfReader(report))
    writer.encrypt(password, "owner", algorithm="RC4-128")
    writer.write(ctx.workspace / "locked.pdf")
    if opens:
        assert "Hello one" in (await call("pdf_extract", path="locked.pdf")).output
        return
    with pytest.raises(ToolFailure, match="is encrypted: it needs a password") as failure:
        await call("pdf_extract", path="locked.pdf")
    assert "qpdf --decrypt" in str(failure.value)


async def test_what_is_no_pdf(call: Call, ctx: ToolContext) -> None:
    (ctx.workspace / "a.txt").write_text("plain")
    (ctx.workspace / "folder").mkdir()
    os.mkfifo(ctx.workspace / "pipe")
    for name, said in [
        ("a.txt", "is no PDF; read it with read_file"),
        ("folder", "is a folder"),
        ("pipe", "is a named pipe"),
        ("missing.pdf", "does not exist"),
    ]:
        with pytest.raises(ToolFailure, match=said):
            await call("pdf_extract", path=name)


async def test_a_file_too_large(call: Call, ctx: ToolContext) -> None:
    with (ctx.workspace / "big.pdf").open("wb") as file:
        file.write(b"%PDF-1.4\n")
        file.truncate(pdf_extract.MAX_BYTES + 1)
    with pytest.raises(ToolFailure, match="is too large"):
        await call("pdf_extract", path="big.pdf")


@pytest.mark.parametrize(
    "content",
    [
        b"%PDF-1.4\n" + b"\x00garbage" * 100,
        b"%PDF-1.4\n%%EOF",
        pdf("Hello").replace(b"/Catalog", b"/Catalxx").replace(b"/Pages", b"/Pagxx"),
        b"%PDF-1.4\n" + b"[" * 200_000,
    ],
)
async def test_a_broken_document(call: Call, ctx: ToolContext, content: bytes) -> None:
    (ctx.workspace / "a.pdf").write_bytes(content)
    with pytest.raises(ToolFailure, match=r"broken|no page"):
        await call("pdf_extract", path="a.pdf")


async def test_a_document_whose_pages_hold_each_other(call: Call, ctx: ToolContext) -> None:
    looped = pdf("Hello").replace(b"/Kids [4 0 R]", b"/Kids [2 0 R]")
    (ctx.workspace / "a.pdf").write_bytes(looped)
    with pytest.raises(ToolFailure):
        await call("pdf_extract", path="a.pdf")


async def test_a_bomb_does_not_reach_us(call: Call, ctx: ToolContext) -> None:
    packed = zlib.compress(b" " * 300_000_000, 9)
    (ctx.workspace / "bomb.pdf").write_bytes(pdf("x", filtered=packed))
    with pytest.raises(ToolFailure):
        await call("pdf_extract", path="bomb.pdf")


async def test_terminal_sequences_stay_out(call: Call, ctx: ToolContext) -> None:
    (ctx.workspace / "a.pdf").write_bytes(pdf(r"a\033[31mred\007b"))
    result = await call("pdf_extract", path="a.pdf")
    assert "\x1b" not in result.output
    assert "\x07" not in result.output
