"""What an edit must keep, tried on files of every kind: encoding, mark, endings, mode, the rest."""

from __future__ import annotations

import asyncio
import stat
import tempfile
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thorough import tries

from stormclaw.protocol.tool import ToolContext
from stormclaw.tools import edit_file, read_file
from stormclaw.tools._text import Decoded, decode, split_lines

ENCODINGS = [
    ("utf-8", b""),
    ("utf-8", b"\xef\xbb\xbf"),
    ("utf-16-le", b"\xff\xfe"),
    ("utf-16-be", b"\xfe\xff"),
    ("utf-32-be", b"\0\0\xfe\xff"),
    ("cp1252", b""),
]
WORDS = st.text("abc xyzäöüß\t", max_size=12)


@st.composite
def files(draw: st.DrawFn) -> tuple[list[str], list[str], int]:
    """Lines, their endings, and which line is to be changed (it stands there once)."""
    lines = draw(st.lists(WORDS, min_size=1, max_size=12))
    at = draw(st.integers(0, len(lines) - 1))
    lines[at] = "ünique"
    kind = draw(st.sampled_from(["\n", "\r\n", "\r", "mixed"]))
    if kind == "mixed":
        mixed = st.sampled_from(["\n", "\r\n"])
        ends = [draw(mixed) for _ in lines[:-1]]
    else:
        ends = [kind] * (len(lines) - 1)
    return lines, [*ends, draw(st.sampled_from(["", ends[0] if ends else "\n"]))], at


@settings(max_examples=tries(50, 150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    file=files(),
    style=st.sampled_from(ENCODINGS),
    mode=st.sampled_from([0o644, 0o600, 0o755]),
    new=st.sampled_from(["", "one", "one\ntwo", "öne\n\nthree"]),
    before=st.booleans(),
    after=st.booleans(),
)
def test_everything_else_is_kept(
    ctx: ToolContext,
    file: tuple[list[str], list[str], int],
    style: tuple[str, bytes],
    mode: int,
    new: str,
    before: bool,
    after: bool,
) -> None:
    lines, ends, at = file
    encoding, mark = style
    with tempfile.TemporaryDirectory(dir=ctx.workspace) as folder:
        path = Path(folder) / "f.txt"
        raw = "".join(map(str.__add__, lines, ends))
        path.write_bytes(mark + raw.encode(encoding))
        path.chmod(mode)
        # The model sends line feeds, with the neighbouring lines around the changed one.
        first = at - 1 if before and at > 0 else at
        last = at + 1 if after and at + 1 < len(lines) else at
        old = "\n".join(lines[first : last + 1])
        wanted = "\n".join([*lines[first:at], new, *lines[at + 1 : last + 1]])

        async def change() -> None:
            await read_file.TOOL.run(read_file.Args(str(path)), ctx)
            await edit_file.TOOL.run(edit_file.Args(str(path), old, wanted), ctx)

        asyncio.run(change())
        # Endings that are new are those most of the file has.
        own = [end for end in ends if end]
        usual = max(("\n", "\r\n", "\r"), key=own.count)
        head = "".join(map(str.__add__, lines[:at], ends[:at]))
        tail = ends[at] + "".join(map(str.__add__, lines[at + 1 :], ends[at + 1 :]))
        expected = head + new.replace("\n", usual) + tail
        assert path.read_bytes() == mark + expected.encode(encoding)
        assert stat.S_IMODE(path.stat().st_mode) == mode
        assert [entry.name for entry in Path(folder).iterdir()] == ["f.txt"]


@given(st.binary())
def test_bytes_that_are_read_as_text_are_written_back_alike(raw: bytes) -> None:
    decoded = decode(raw)
    if isinstance(decoded, Decoded):
        assert decoded.encode(decoded.text) == raw or decoded.text.startswith("\ufeff")


@given(st.text())
def test_text_cut_into_lines_is_the_same_text(text: str) -> None:
    lines = split_lines(text)
    assert lines.join() == text
    assert len(lines.ends) == len(lines.texts) - 1


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n\n", 2), ("a\r", 1)]
)
def test_lines_are_counted_as_people_do(text: str, count: int) -> None:
    assert split_lines(text).count == count


DRESSES: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "trailing spaces": lambda text: text.replace("\n", "  \n"),
    "other indentation": lambda text: "\n".join("  " + line for line in text.split("\n")),
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "curly": lambda text: text.replace('"', "\u201d").replace("-", "\u2013"),
    "dots": lambda text: text.replace("...", "\u2026"),
    "blank lines around": lambda text: f"\n{text}\n\n",
    "carriage returns": lambda text: text.replace("\n", "\r\n"),
}


@settings(max_examples=tries(50, 150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    dress=st.sampled_from(sorted(DRESSES)),
    head=st.lists(WORDS, max_size=6),
    tail=st.lists(WORDS, max_size=6),
    end=st.sampled_from(["\n", "\r\n"]),
    last=st.booleans(),
    style=st.sampled_from([("utf-8", b""), ("utf-8", b"\xef\xbb\xbf"), ("utf-16-le", b"\xff\xfe")]),
)
def test_an_edit_that_is_only_alike_touches_nothing_around_it(
    ctx: ToolContext,
    dress: str,
    head: list[str],
    tail: list[str],
    end: str,
    last: bool,
    style: tuple[str, bytes],
) -> None:
    there = ['    say "\u00e9t\u00e9" - one...', "        two", "    three"]
    encoding, mark = style
    before, after = [*head], [*tail]
    texts = [*before, *there, *after]
    ends = [end if at % 3 else "\n" for at in range(len(texts))]
    if last:
        ends[-1] = ""
    raw = list(map(str.__add__, texts, ends))
    old = DRESSES[dress]("\n".join(there))
    new = DRESSES[dress]("\n".join([there[0], "        zwei", there[2]]))
    with tempfile.TemporaryDirectory(dir=ctx.workspace) as folder:
        path = Path(folder) / "f.txt"
        path.write_bytes(mark + "".join(raw).encode(encoding))

        async def change() -> None:
            await read_file.TOOL.run(read_file.Args(str(path)), ctx)
            await edit_file.TOOL.run(edit_file.Args(str(path), old, new), ctx)

        asyncio.run(change())
        raw[len(before) + 1] = "        zwei" + ends[len(before) + 1]
        got = path.read_bytes()
        assert got[len(mark) :].decode(encoding).replace("zwei  ", "zwei") == "".join(raw)
        assert got.startswith(mark)
