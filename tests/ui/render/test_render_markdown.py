"""Markdown on the screen: readable goldens, exact widths, and streaming that changes nothing."""

from __future__ import annotations

from drawn import a_look, assert_exact, texts
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import tries

from stormclaw.ui.markdown import Markdown, Part, References
from stormclaw.ui.render.code import Lexers
from stormclaw.ui.render.lines import Line
from stormclaw.ui.render.look import Look
from stormclaw.ui.signs import ASCII

MARKDOWN = Markdown(Lexers(eager=True))


def drawn(source: str, look: Look | None = None) -> list[Line]:
    look = look or a_look()
    return [line for part in MARKDOWN.split(source) for line in MARKDOWN.draw(part, look)]


def shown(source: str, measure: int = 42) -> list[str]:
    return texts(drawn(source, a_look(measure)))


def styles_of(source: str, word: str) -> list[str]:
    """Styles of the segments that hold `word`."""
    return [
        str(segment.style)
        for line in drawn(source)
        for segment in line.strip
        if word in segment.text
    ]


def test_prose_wraps_after_the_gutter() -> None:
    assert shown("one two three four five six seven eight nine") == [
        "  one two three four five six seven eight",
        "  nine",
    ]


def test_a_fence_stands_on_its_ground_and_keeps_every_character() -> None:
    assert shown("```python\ndef f():\n    return 'x'\n```") == [
        "  ▌ def f():",
        "  ▌     return 'x'",
    ]
    assert "on #182027" in styles_of("```\nplain\n```", "plain")[0]


def test_code_has_three_colours() -> None:
    source = "```python\nasync def f(): # why\n    return 'x'\n```"
    assert "#8fbaf0" in styles_of(source, "async")[0]
    assert "#7cc7ba" in styles_of(source, "'x'")[0]
    assert "italic" in styles_of(source, "# why")[0]
    assert "bold" not in "".join(styles_of(source, "f"))


def test_an_unknown_language_is_plain() -> None:
    assert shown("```nosuchlanguage\nx = 1\n```") == ["  ▌ x = 1"]


def test_a_long_code_line_wraps_without_losing_anything() -> None:
    lines = drawn("```\n" + "x" * 100 + "\n```", a_look(42))
    assert "".join(line.strip.text.strip(" ▌") for line in lines) == "x" * 100
    assert [line.joint for line in lines] == ["", "", "\n"]


def test_lists_nest_and_tasks_have_signs() -> None:
    assert shown("1. one\n2. two\n   - deep\n     more\n10. ten\n\n- [x] done\n- [ ] open") == [
        "   1. one",
        "   2. two",
        "       • deep more",
        "   3. ten",
        "   ✓ done",
        "   ○ open",
    ]


def test_a_loose_list_has_air() -> None:
    assert shown("- one\n\n- two") == ["   • one", "", "   • two"]


def test_a_table_shares_its_room() -> None:
    source = "| server says | now |\n|:--|--:|\n| 429, no header | `RetryError` |"
    assert [line.split() for line in shown(source, 50)] == [
        ["server", "says", "now"],
        ["429,", "no", "header", "RetryError"],
    ]
    assert [len(line) for line in shown(source, 50)] == [50, 50]


def test_a_narrow_table_wraps_its_cells() -> None:
    source = "| a | b |\n|--|--|\n| one two three four | five six seven eight |"
    lines = shown(source, 26)
    assert " ".join(" ".join(lines).split()) == "a b one two five six three four seven eight"


def test_quotes_headings_rules_and_html_are_plain_words() -> None:
    assert shown("# Big\n\n> said *so*\n\n---\n\n<b onclick=x>\nraw\n</b>", 20) == [
        "  Big",
        "  ▏ said so",
        "  " + "─" * 18,
        "  <b onclick=x>",
        "  raw",
        "  </b>",
    ]


def test_inline_styles() -> None:
    source = "a `code` **bold** *slanted* ~~gone~~ x<br>y"
    assert "#b4cfdf" in styles_of(source, "code")[0]
    assert "bold" in styles_of(source, "bold")[0]
    assert "italic" in styles_of(source, "slanted")[0]
    assert "strike" in styles_of(source, "gone")[0]
    assert shown(source) == ["  a code bold slanted gone x", "  y"]


def test_only_web_addresses_become_links_and_none_can_lie() -> None:
    assert "link https://a.b/c" in styles_of("[here](https://a.b/c)", "here")[0]
    assert "link" not in styles_of("[here](file:///etc/passwd)", "here")[0]
    assert "link" not in styles_of("[here](ssh://x)", "here")[0]
    assert shown("[https://good](https://evil)") == ["  https://good (https://evil)"]
    assert shown("<https://good.example>") == ["  https://good.example"]


def test_escapes_and_entities_cannot_reach_the_terminal() -> None:
    assert shown("a \x1b[2J `\x1b]0;x\x07` &#x202e; &#8203; &#12;b") == [
        "  a ␛[2J ␛]0;x^G \\u{202e} \\u{200b} ^Lb"
    ]
    assert shown("[x](http://a/\x1b)") == shown("[x](http://a/␛)")


def test_separators_that_other_splitters_take_for_newlines() -> None:
    assert shown("one\u2028two\x0cthree\n\nfour") == ["  one\\u{2028}two^Lthree", "  four"]


def test_ascii_signs() -> None:
    look = a_look(42, ASCII)
    assert texts(drawn("- a\n\n```\nx\n```\n\n> q", look)) == ["   * a", "  | x", "  | q"]
    assert "".join(texts(drawn("- [x] a\n- b\n\n---", look))).isascii()


def test_references_defined_later_are_found() -> None:
    assert shown("see [it][1]\n\n[1]: http://a.b 'T'") == ["  see it (http://a.b)"]


SNIPPETS = st.sampled_from(
    [
        "para one two three four five six seven eight nine ten",
        "**bold** and `code` with [link](http://x.y)",
        "# head",
        "head\n===",
        "para\nhead\n---",
        "- a\n- b",
        "- a\n\n  para in item\n- b",
        "1. a\n   - b\n     ```\n     code\n     ```",
        "> quote\nlazy",
        "> a\n\n> b",
        "```py\nx = 1\n\ny = '''\n```",
        "~~~\n```\n~~~",
        "````\n```\nx\n````",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "a | b\n--|--\n1 | 2",
        "    indented\n\n    code",
        "<div>\nraw\n</div>",
        "---",
        "* * *",
        "[r]: http://ref",
        "see [r]",
        "漢字漢字 かな",
        "\ttab\tbed",
        "tail  \nbreak",
        "-\n-x",
        "#\n#x",
        "```",
        "```js",
    ]
)
DOCUMENTS = st.lists(
    st.tuples(SNIPPETS, st.sampled_from(["\n", "\n\n", "\n\n\n", " ", "\r\n\r\n"])), max_size=8
).map(lambda pairs: "".join(snippet + gap for snippet, gap in pairs))


@settings(deadline=None, max_examples=tries(50, 150))
@given(DOCUMENTS, st.data())
def test_streaming_gives_the_same_parts_as_the_whole(source: str, data: st.DataObject) -> None:
    growing = MARKDOWN.grow()
    parts = []
    rest = source
    look = a_look(40)
    while rest:
        size = data.draw(st.integers(1, 12))
        parts += growing.feed(rest[:size])
        assert_exact(growing.draw(look), 40)
        rest = rest[size:]
    parts += growing.finish()
    whole = MARKDOWN.split(source)
    assert [part.source for part in parts] == [part.source for part in whole]
    live = [texts(MARKDOWN.draw(part, look)) for part in parts]
    assert live == [texts(MARKDOWN.draw(part, look)) for part in whole]
    assert growing.source == source


@settings(deadline=None, max_examples=tries(30, 80))
@given(DOCUMENTS, st.text(max_size=40), st.integers(4, 95))
def test_every_line_is_exactly_as_wide_as_asked(source: str, raw: str, measure: int) -> None:
    assert_exact(drawn(source + "\n\n" + raw + "\n\n> - " + raw, a_look(measure)), measure)


@settings(deadline=None, max_examples=tries(30, 80))
@given(st.text(st.characters(exclude_categories=()), max_size=200), st.integers(4, 95))
def test_any_text_at_all_is_drawn(raw: str, measure: int) -> None:
    assert_exact(drawn(raw, a_look(measure)), measure)


class Counting(Markdown):
    """Notes how much text is split each time."""

    def __init__(self) -> None:
        super().__init__(Lexers(eager=True))
        self.splits: list[int] = []

    def split(self, source: str, references: References | None = None) -> list[Part]:
        self.splits.append(len(source))
        return super().split(source, references)


def test_a_long_fence_grows_without_being_parsed_again() -> None:
    markdown = Counting()
    growing = markdown.grow()
    growing.feed("intro\n\n```python\n")
    look = a_look()
    for number in range(400):
        assert growing.feed(f"value_{number} = {number} # {'x' * 20}\n") == []
        growing.draw(look)
    assert max(markdown.splits) < 4_200
    assert len(markdown.splits) < 140
    assert len(growing.draw(look)) == 400
    assert [part.is_code for part in growing.feed("```\nafter\n")] == [True]
    assert [part.source for part in growing.feed("\nmore\n")] == ["after"]
    assert texts(growing.draw(look)) == ["  more"]
