"""Turns a web page into Markdown: what it says, without scripts, menus and hidden text.

Runs in a process of its own (`_apart`): the parser's time grows with the square of hostile input.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

MAX_MARKUP = 600_000
"""Characters that are parsed, after scripts, styles and comments were taken out."""

NOISE = (
    "title", "nav", "footer", "script", "style", "noscript", "template", "svg", "math", "canvas",
    "iframe", "object", "embed", "audio", "video", "dialog", "button", "select", "textarea",
    "input",
)  # fmt: skip

MAX_OPEN = 500
"""Tracked tags inside each other; a page nested deeper is parsed as it is."""

_PARAGRAPH = frozenset({"p"})
_CELLS = frozenset({"td", "th"})
_ROWS = _CELLS | {"tr"}
_GROUPS = _ROWS | {"thead", "tbody", "tfoot"}
_ENDED_BY = {
    "li": frozenset({"li", "p"}),
    "dt": frozenset({"dt", "dd", "p"}),
    "dd": frozenset({"dt", "dd", "p"}),
    "td": _CELLS | {"p"},
    "th": _CELLS | {"p"},
    "tr": _ROWS | {"p"},
    "thead": _GROUPS | {"p"},
    "tbody": _GROUPS | {"p"},
    "tfoot": _GROUPS | {"p"},
}
"""An opening tag -> those right before it that end there; all others end a paragraph."""
_TRACKED = re.compile(
    r"<(/?)(li|dt|dd|td|th|tr|thead|tbody|tfoot|ul|ol|dl|table|p|div|section|article|aside|main"
    r"|header|h[1-6]|pre|blockquote|figure|form|details)(?=[\s/>])",
    re.I,
)
_OPENING = re.compile(r"<(?:!--|(script|style|svg|noscript|template|iframe)(?=[\s/>]))", re.I)
_TAG = re.compile(r"<[^<>]*>")
_BLANKS = re.compile(r"\n{3,}")
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
_LINKED = frozenset({"http", "https", "mailto"})


def convert(base: str) -> None:
    """Standard input, a page in UTF-8, to Markdown on standard output; links joined to `base`."""
    page = sys.stdin.buffer.read().decode("utf-8", "replace")
    sys.stdout.buffer.write(markdown(page, base).encode("utf-8", "replace"))
    sys.stdout.buffer.flush()


def markdown(page: str, base: str) -> str:
    """The page as Markdown, its title first; may take long on hostile input."""
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(closed(without_noise(page)[:MAX_MARKUP]), "html.parser")
    title = " ".join(soup.title.get_text().split()) if soup.title else ""
    base = _base(soup, base)
    if soup.head is not None:
        soup.head.decompose()
    for tag in soup.find_all(NOISE):
        tag.decompose()
    for tag in soup.find_all(_is_hidden):
        tag.decompose()
    text = str(_converter(base).convert_soup(soup))
    lines = "\n".join(line.rstrip() for line in text.splitlines())
    body = _BLANKS.sub("\n\n", lines).strip()
    heading = "" if not title or title in body[: len(title) + 200] else f"# {title}\n\n"
    return heading + body


def without_noise(page: str) -> str:
    """The page without scripts, styles and comments; one left open takes the rest with it."""
    kept: list[str] = []
    at = 0
    while (opening := _OPENING.search(page, at)) is not None:
        kept.append(page[at : opening.start()])
        name = (opening[1] or "").lower()
        closing = re.compile(f"</{name}" if name else "-->", re.I).search(page, opening.end())
        if closing is None:
            return "".join(kept)
        at = page.find(">", closing.end() - 1) + 1 or len(page)
    return "".join(kept) + page[at:]


def closed(page: str) -> str:
    """The page with the end tags that HTML lets one leave out: `<li>one<li>two`.

    The parser would nest what stands side by side.
    """
    kept: list[str] = []
    open_tags: list[str] = []
    at = 0
    for found in _TRACKED.finditer(page):
        name = found[2].lower()
        kept.append(page[at : found.start()])
        at = found.start()
        if found[1]:
            if name in open_tags:
                while open_tags.pop() != name:
                    pass
            continue
        while open_tags and open_tags[-1] in _ENDED_BY.get(name, _PARAGRAPH):
            kept.append(f"</{open_tags.pop()}>")
        open_tags.append(name)
        if len(open_tags) > MAX_OPEN:
            break
    return "".join(kept) + page[at:]


def stripped(page: str) -> str:
    """The text of a page without its tags: for pages that are too hostile to be parsed."""
    from html import unescape

    text = unescape(_TAG.sub(" ", without_noise(page)))
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def _base(soup: BeautifulSoup, base: str) -> str:
    tag = soup.find("base", href=True)
    return _joined(base, str(tag["href"])) or base if tag is not None else base


def _joined(base: str, link: str) -> str:
    """The absolute form of a link, "" if it leads to no place."""
    try:
        url = urljoin(base, link.strip())
        return url if urlsplit(url).scheme in _LINKED else ""
    except ValueError:
        return ""


def _is_hidden(tag: Tag) -> bool:
    return (
        tag.has_attr("hidden")
        or tag.get("aria-hidden") == "true"
        or _HIDDEN.search(str(tag.get("style", ""))) is not None
    )


def _converter(base: str) -> Any:
    from markdownify import ATX, MarkdownConverter

    class Converter(MarkdownConverter):  # type: ignore[misc, unused-ignore]
        """Links absolute or gone, pictures by their description."""

        def convert_a(self, el: Tag, text: str, parent_tags: set[str]) -> str:
            href = str(el.get("href", ""))
            url = "" if href.startswith("#") else _joined(base, href)
            words = " ".join(text.split())
            if not words or not url or "_noformat" in parent_tags:
                return text
            return f"[{words}](<{url}>)" if set(url) & set(" ()<>") else f"[{words}]({url})"

        def convert_img(self, el: Tag, text: str, parent_tags: set[str]) -> str:
            words = " ".join(str(el.get("alt", "")).split())
            return f"[picture: {words}]" if words else ""

    return Converter(
        heading_style=ATX,
        bullets="-",
        escape_asterisks=False,
        escape_underscores=False,
        code_language_callback=_language,
    )


def _language(pre: Tag) -> str:
    """The language of a code block, from `class="language-x"` on it or in it."""
    inner = pre.find("code")
    for tag in (pre, inner):
        for name in (tag.get("class") or ()) if tag is not None else ():
            if name.startswith(("language-", "lang-")):
                return str(name.partition("-")[2])
    return ""
