"""Parsers in a process of their own: bounded, alone, and gone afterwards."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from stormclaw.tools._apart import apart
from stormclaw.tools._html import closed, markdown, stripped, without_noise

CHILDREN = Path(f"/proc/self/task/{os.getpid()}/children")
SLOW = b'<a x="' * 30_000
"""Keeps Python's parser busy for about a minute."""


async def convert(page: bytes, seconds: float = 30.0, most: int = 1_000_000) -> tuple[str, str]:
    told = await apart(
        "_html:convert", "https://e.example/d/", given=page, seconds=seconds, most_bytes=most
    )
    return told.end, told.output.decode()


async def test_it_works_and_ends() -> None:
    assert await convert(b"<h1>Hi</h1>") == ("done", "# Hi")


async def test_it_is_ended_when_time_is_over() -> None:
    before = time.monotonic()
    assert (await convert(SLOW, seconds=1.5))[0] == "time"
    assert time.monotonic() - before < 20
    assert not children()


@pytest.mark.skipif(not CHILDREN.exists(), reason="the system does not list child processes")
async def test_it_is_ended_when_cancelled() -> None:
    task = asyncio.create_task(convert(SLOW))
    while not children():
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not children()


async def test_too_much_output() -> None:
    end, output = await convert(b"<p>word</p>" * 10_000, most=1_000)
    assert (end, len(output)) == ("size", 1_000)


async def test_what_breaks_is_told() -> None:
    told = await apart("_html:nothing", given=b"", seconds=30, most_bytes=100)
    assert (told.end, told.output) == ("broken", b"")
    assert "nothing" in told.complaint
    deep = await apart("_html:convert", "x", given=b"<div>" * 50_000, seconds=30, most_bytes=100)
    assert (deep.end, deep.complaint[:14]) == ("broken", "RecursionError")


async def test_it_sees_neither_workspace_nor_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `bs4.py` in the workspace is never imported, whatever the environment says."""
    for name in ("bs4", "json", "markdownify"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('taken over')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("SECRET_KEY", "x")
    assert await convert(b"<p>fine") == ("done", "fine")


def children() -> list[str]:
    """The other processes that were started from here and are not done."""
    lists = Path("/proc/self/task").glob("*/children")
    return [pid for each in lists for pid in each.read_text().split()]


# The conversion itself


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("plain", "plain"),
        ("a<script>x</script>b<STYLE>y</style >c<!-- d -->e", "abce"),
        ("a<script>never closed <p>b", "a"),
        ("a<!-- never closed", "a"),
        ("İ<script>x</script>after", "İafter"),
        ("<scripted>kept</scripted>", "<scripted>kept</scripted>"),
    ],
)
def test_noise_is_taken_out(page: str, text: str) -> None:
    assert without_noise(page) == text


@pytest.mark.parametrize(
    ("page", "mended"),
    [
        ("<ul><li>a<li>b</ul>", "<ul><li>a</li><li>b</ul>"),
        ("<p>a<p>b<div>c</div>", "<p>a</p><p>b</p><div>c</div>"),
        ("<ul><li>a<ul><li>b</ul><li>c</ul>", "<ul><li>a<ul><li>b</ul></li><li>c</ul>"),
        ("<table><tr><td>a<td>b<tr><td>c</table>",
         "<table><tr><td>a</td><td>b</td></tr><tr><td>c</table>"),
        ("<dl><dt>a<dd>b<dt>c</dl>", "<dl><dt>a</dt><dd>b</dd><dt>c</dl>"),
        ("</p></li>x", "</p></li>x"),
    ],
)  # fmt: skip
def test_end_tags_left_out_are_put_in(page: str, mended: str) -> None:
    assert closed(page) == mended


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<a href='../x'>up</a>", "[up](https://e.example/x)"),
        ("<a href='/a b(c)'>odd</a>", "[odd](<https://e.example/a b(c)>)"),
        ("<a href='#part'>part</a>", "part"),
        ("<a href='data:text/html,x'>d</a>", "d"),
        ("<a href='http://[x/'>bad</a>", "bad"),
        ("<base href='https://o.example/q/'><a href=x>b</a>", "[b](https://o.example/q/x)"),
        ("<base href='javascript:x'><a href=x>b</a>", "[b](https://e.example/d/x)"),
        ("<p aria-hidden=true>no</p>yes", "yes"),
        ("<form><p>kept</p><button>no</button></form>", "kept"),
        ("snake_case *stars*", "snake_case *stars*"),
        ("<title>T</title><h1>T</h1>", "# T"),
        ("<title>A & B</title><p>x", "# A & B\n\nx"),
        ("<p>a</p>\n\n\n\n\n<p>b</p>", "a\n\nb"),
        ("&lt;script&gt;", "<script>"),
        ("", ""),
    ],
)
def test_markdown(page: str, text: str) -> None:
    assert markdown(page, "https://e.example/d/page") == text


def test_bare_text() -> None:
    page = "<div><p>a &amp; b</p>\n\n<script>x</script><p>c"
    assert stripped(page) == "a & b\nc"


@pytest.mark.parametrize("unit", ["<", "<!--", "&#", "<script", "<p>", '<a x="', "<p>x</div>"])
def test_the_way_out_takes_no_time(unit: str) -> None:
    """CPU time, so that a busy machine does not matter; the square of this would be minutes."""
    hostile = unit * (300_000 // len(unit))
    before = time.process_time()
    stripped(hostile)
    closed(without_noise(hostile))
    assert time.process_time() - before < 5
