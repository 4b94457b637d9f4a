"""However `rm -rf /` is wrapped, it stays blocked; however text is quoted, it stays text."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thorough import tries

from stormclaw.config.settings import SecuritySettings
from stormclaw.protocol.effects import RISKS, Runs
from stormclaw.security.gate import judge, policy_from
from stormclaw.security.shell.shell_read import read
from stormclaw.security.shell.shell_tree import Unreadable

WORKSPACE = Path("/nowhere/ws")
POLICY = policy_from(
    SecuritySettings(),
    workspace=WORKSPACE,
    home=Path("/nowhere/home"),
    user_home=Path("/nowhere/me"),
)

WORDS: tuple[str, ...] = (
    "env",
    "env -i A=1",
    "command",
    "nohup",
    "nice -n 3",
    "timeout 5",
    "timeout -k 1 5s",
    "stdbuf -oL",
    "setsid",
    "sudo",
    "sudo -u x",
    "busybox",
    "xargs",
    "xargs -0 -n1",
    "exec",
    "uv run",
    "flock f",
    "/usr/bin/env",
)
FRAMES: tuple[Callable[[str], str], ...] = (
    lambda line: f"sh -c {shlex.quote(line)}",
    lambda line: f"bash -euxc {shlex.quote(line)}",
    lambda line: f"eval {shlex.quote(line)}",
    lambda line: f"( {line} )",
    lambda line: f"{{ {line}; }}",
    lambda line: f"true && {line}",
    lambda line: f"false || {line}",
    lambda line: f"ls; {line}; ls",
    lambda line: f"ls | {line}",
    lambda line: f"{line} | cat",
    lambda line: f"{line} &",
    lambda line: f"! {line}",
    lambda line: f"echo $( {line} )",
    lambda line: f'echo "$( {line} )"',
    lambda line: f"X=$( {line} )",
    lambda line: f"cat <( {line} )",
    lambda line: f"if true; then {line}; fi",
    lambda line: f"while {line}; do true; done",
    lambda line: f"for i in a b; do {line}; done",
    lambda line: f"f() {{ {line}; }}; f",
    lambda line: f"case x in x) {line};; esac",
    lambda line: f"{line} > /dev/null 2>&1",
    lambda line: f"trap {shlex.quote(line)} EXIT",
    lambda line: f"bash <<'_{len(line)}_'\n{line}\n_{len(line)}_\n",
    lambda line: f"[[ -n $( {line} ) ]]",
    lambda line: f"find . -exec sh -c {shlex.quote(line)} \\;",
)


def _quoted(word: str, style: int) -> str:
    styles = (word, f"'{word}'", f'"{word}"', f"\\{word}", f"{word[0]}''{word[1:]}")
    return styles[style % len(styles)]


@st.composite
def wrapped(draw: st.DrawFn) -> str:
    name = draw(st.sampled_from(["rm", "/bin/rm", "/usr/bin/rm"]))
    line = f"{_quoted(name, draw(st.integers(0, 4)))} -rf /"
    for _ in range(draw(st.integers(0, 2))):
        line = f"{draw(st.sampled_from(WORDS))} {line}"
    for frame in draw(st.lists(st.sampled_from(FRAMES), max_size=3)):
        line = frame(line)
    return line


@settings(
    max_examples=tries(60, 600),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(wrapped())
def test_rm_stays_blocked_in_any_wrapping(line: str) -> None:
    try:
        read(line)
    except Unreadable:
        return
    verdict = judge((Runs(line, WORKSPACE),), POLICY)
    assert verdict.risk == "blocked", (line, verdict.trace)


@settings(max_examples=tries(20, 300), deadline=None, derandomize=True)
@given(st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), max_size=40))
def test_quoted_text_is_data(text: str) -> None:
    line = f"echo {shlex.quote('rm -rf / ' + text)}"
    assert judge((Runs(line, WORKSPACE),), POLICY).risk == "low", line


@settings(max_examples=tries(40, 400), deadline=None, derandomize=True)
@given(st.text(max_size=60))
def test_any_text_gets_a_verdict(line: str) -> None:
    verdict = judge((Runs(line, WORKSPACE),), POLICY)
    assert verdict.risk in RISKS
    assert verdict.rule
    assert verdict.segments


@settings(max_examples=tries(40, 400), deadline=None, derandomize=True)
@given(st.text(alphabet=" \n;|&(){}$`'\"\\<>*?[]#=~!abrm/-.0", max_size=40))
def test_shell_soup_with_a_forbidden_word_never_runs_freely(text: str) -> None:
    """Where the line parses and `rm` is its own command, it is blocked; else it is held or text."""
    verdict = judge((Runs(f"rm x\n{text}", WORKSPACE),), POLICY)
    assert verdict.decision == "deny", (text, verdict.trace)
