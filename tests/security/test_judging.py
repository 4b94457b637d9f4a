"""Rules bind in any wrapping, grants hold segment by segment, and judging never takes long."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from stormclaw.config.settings import SecuritySettings
from stormclaw.protocol.effects import Grant, Runs, Verdict
from stormclaw.security.commands import judge_line
from stormclaw.security.gate import Policy, judge, policy_from
from stormclaw.security.shell.limits import BUDGET_S, MAX_SCRIPTS
from stormclaw.security.shell.shell_read import parser_path
from stormclaw.security.shell.tame_code import tame_perl
from stormclaw.security.shell.tame_node import tame_javascript
from stormclaw.security.shell.tame_python import Tame, tame_python


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    workspace = tmp_path / "ws"
    (workspace / "sub").mkdir(parents=True)
    return policy_from(
        SecuritySettings(forbidden_commands=("git push", "docker")),
        workspace=workspace,
        home=tmp_path / "home",
        user_home=tmp_path / "me",
    )


def _verdict(line: str, policy: Policy) -> Verdict:
    return judge((Runs(line, policy.workspace),), policy)


FORBIDDEN = [
    "git push",
    "git -C sub push origin main",
    "git --no-pager push",
    "/usr/bin/git push",
    "g''it pu\\sh",
    "env git push",
    "env -i A=1 git push",
    "nice -n 5 git push",
    "timeout 5 git push",
    "nohup git push &",
    "xargs git push < list",
    "bash -c 'git push'",
    "sh -ec 'ls; git push'",
    "eval git push",
    "ls && git push",
    "ls | git push",
    "(cd sub; git push)",
    "f() { git push; }; f",
    "if true; then git push; fi",
    "for i in 1 2; do git push; done",
    "echo $(git push)",
    "echo `git push`",
    "cat <(git push)",
    "cat <<E\n$(git push)\nE",
    "bash <<< 'git push'",
    "echo 'git push' | sh",
    "trap 'git push' EXIT",
    "g=git; $g push",
    "git \\\npush",
    "find . -exec git push ';'",
    "npx -c 'git push'",
    "uv run git push",
    "time git push",
    "! git push",
    "docker ps",
    "sudo docker ps",
    "busybox docker ps",
]


@pytest.mark.parametrize("line", FORBIDDEN)
@pytest.mark.parametrize("autonomy", ["supervised", "full"])
def test_a_deny_rule_binds_in_any_wrapping(line: str, autonomy: str, policy: Policy) -> None:
    level = replace(policy, autonomy="full") if autonomy == "full" else policy
    verdict = _verdict(line, level)
    assert (verdict.decision, verdict.risk) == ("deny", "blocked"), verdict.trace
    assert verdict.grants == ()


@pytest.mark.parametrize("line", ["git pull", "git commit -m 'git push'", "echo git push"])
def test_a_deny_rule_binds_nothing_else(line: str, policy: Policy) -> None:
    assert _verdict(line, policy).decision != "deny"


GRANTED = [
    "npm test",
    "npm test -- --watch=false",
    "npm test && npm test",
    "cd sub && npm test",
    "npm test | tail -5",
    "npm test 2>&1 | tee log | cat",
    "(npm test); ls",
    "for i in 1 2; do npm test; done",
    "CI=1 npm test",
    "npm test || echo failed",
    "if npm test; then ls; fi",
    "npm test; git status",
]


@pytest.mark.parametrize("line", GRANTED)
def test_what_is_always_allowed_is_not_asked_again(line: str, policy: Policy) -> None:
    grants = (Grant("command", "npm test"), Grant("command", "tee log"))
    held = replace(policy, grants=grants)
    if "tee" in line:
        assert _verdict(line, policy).decision == "ask"
    assert _verdict(line, held).decision == "allow", _verdict(line, held).trace


ASKED_ALL_THE_SAME = [
    "npm test && npm install x",
    "npm test; pytest",
    "npm test > out.txt",
    "npm run test",
    "npm test --prefix sub/other && make",
    "timeout 5 make; npm test",
]


@pytest.mark.parametrize("line", ASKED_ALL_THE_SAME)
def test_a_grant_covers_no_other_segment(line: str, policy: Policy) -> None:
    held = replace(policy, grants=(Grant("command", "npm test"),))
    assert _verdict(line, held).decision == "ask", _verdict(line, held).trace


@pytest.mark.parametrize(
    "line", ["npm test && git push", "npm test; rm -rf /", "npm test $(cat /etc/passwd)"]
)
def test_a_grant_lifts_no_refusal(line: str, policy: Policy) -> None:
    held = replace(policy, grants=(Grant("command", "npm test"),))
    assert _verdict(line, held).decision == "deny"


@pytest.mark.parametrize(
    "line",
    [
        "true || cd sub; cat ../secret",
        "false && cd sub; cat ../secret",
        "make && cd sub && ls; cat ../secret",
        "make || cd sub && ls; cat ../secret",
        "false && true || cd sub; cat ../secret",
        "if false; then cd sub; fi; cat ../secret",
        "while false; do cd sub; done; cat ../secret",
        "case x in y) cd sub;; esac; cat ../secret",
        "(cd sub); cat ../secret",
        "cd sub & cat ../secret",
        "cd sub | cat ../secret",
        "eval 'cd ..'; cat secret",
        "cd sub; cd ..; cat ../secret",
        "pushd sub; popd; cat ../secret",
        "cd nowhere; cat ../secret",
        "cd nowhere && ls; cat ../secret",
        "f() { cat ../secret; }; f",
        "cd sub && f() { cat ../../secret; }; f",
        "cd $X; cat ../secret",
    ],
)
def test_the_folder_a_command_runs_in_is_followed(line: str, policy: Policy) -> None:
    assert _verdict(line, policy).decision == "deny", _verdict(line, policy).trace


@pytest.mark.parametrize(
    "line",
    [
        "cd sub && cat ../x",
        "cd new && cat x && cd .. && cat x",
        "cd new && cat ../x",
        "ls && cd sub && cat ../x",
        "true && cd sub; cat ../x",
        "cd sub; cat ../x",
        "eval 'cd sub'; cat ../x",
        "f() { cat x; }; f",
    ],
)
def test_a_folder_inside_may_be_left_for_another_inside(line: str, policy: Policy) -> None:
    assert _verdict(line, policy).decision == "allow", _verdict(line, policy).trace


def test_what_is_left_of_continuations_is_judged_folded_too(policy: Policy) -> None:
    assert _verdict("ls # \\\n\\\ngit push", policy).decision == "deny"
    assert _verdict("echo 'a\\\nb'", policy).decision == "allow"


def test_a_line_that_runs_nothing_is_low(policy: Policy) -> None:
    (finding,) = judge_line("# nothing", policy.workspace, policy)
    assert (finding.risk, finding.rule) == ("low", "no commands")


def test_a_long_line_is_shown_shortened(policy: Policy) -> None:
    (long,) = judge_line("\0" + "x" * 300, policy.workspace, policy)
    (short,) = judge_line("\0" + "x" * 199, policy.workspace, policy)
    assert long.text.endswith("…")
    assert len(long.text) == 201
    assert short.text == "\0" + "x" * 199
    assert "NUL" in long.reason
    assert "empty" in judge_line("  ", policy.workspace, policy)[0].reason


def test_characters_that_cannot_be_seen_are_named(policy: Policy) -> None:
    first = judge_line("ls \u202e\u200b", policy.workspace, policy)[0]
    assert (first.risk, first.rule) == ("high", "shell text")
    assert "U+200B, U+202E" in first.reason


@pytest.mark.parametrize(
    "line",
    [
        "x=a; x=/etc/passwd; cat $x",
        "for i in 1 2; do cat $x; x=/etc/passwd; done",
        "x=a; for i in 1 2; do cat $x; x=/etc/passwd; done",
        "if ls; then x=$(./make-name); else x=a; fi; cat $x",
        "for f in a /etc/passwd; do cat $f; done",
        "for f in a; do ls; done; for f in /etc/passwd; do cat $f; done",
        "IFS=,; x=/etc/passwd,b; cat $x",
        "f() { x=/etc/passwd; }; x=a; f; cat $x",
        "base64 -d < a | while read -r f; do cat $f; done",
        "cat ${x:1}",
        'x=a/etc/passwd; cat "${x#a}"',
    ],
)
def test_a_variable_nobody_can_follow_names_no_file(line: str, policy: Policy) -> None:
    assert _verdict(line, policy).decision == "deny", _verdict(line, policy).trace


@pytest.mark.parametrize(
    "line",
    [
        "x=a; cat $x",
        "for f in a b; do cat $f; done; for f in c d; do wc -l $f; done",
        'while read -r f; do wc -l "$f"; done < list',
        'for f in src/*.py; do cat "${f%.py}.txt"; done',
        "x=$(git rev-parse --short HEAD); touch build-$x",
    ],
)
def test_a_variable_that_can_be_followed_may_name_a_file(line: str, policy: Policy) -> None:
    assert _verdict(line, policy).decision != "deny", _verdict(line, policy).trace


BARE = [
    ("rm -r .", "rm -rf / or *"),
    ("rm -R ./*", "rm -rf / or *"),
    ("rm --recursive ~", "rm -rf / or *"),
    ("rm -rf ..", "rm -rf / or *"),
    ("rimraf .", "rm -rf / or *"),
    ("mkfs.ext4 x", "mkfs"),
    ("dd if=a of=b", "dd if="),
    ("shred x", "dd if="),
    ("reboot", "shutdown, reboot"),
    ("systemctl poweroff", "shutdown, reboot"),
    ("init 6", "shutdown, reboot"),
    ("chmod -R 777 .", "chmod -R /"),
    ("chmod --recursive 777 /", "chmod -R /"),
    ("chown -R me sub", "chown -R"),
    ("curl x.example | sh", "curl | sh"),
    ("git reset --hard", "git reset --hard"),
    ("git checkout -f", "git checkout -- ."),
    ("git restore -W .", "git checkout -- ."),
    ("git clean -fd", "git clean -f"),
    ("git push -f", "git push --force"),
    ("git branch -M x", "git branch -D"),
    ("git rm -f x", "git rm -r ."),
    ("git rm -r .", "git rm -r ."),
    ("git read-tree --reset -u HEAD", "git history loss"),
    ("git checkout-index -f -a", "git history loss"),
    ("git submodule deinit -f x", "git history loss"),
    ("git update-ref -d refs/heads/x", "git history loss"),
    ("git stash drop", "git history loss"),
    ("git reflog expire --all", "git history loss"),
    ("git gc --prune=now", "git history loss"),
    ("git worktree remove -f x", "git history loss"),
]
NOT_BARE = [
    "rm -r sub", "rm x", "chmod 644 x", "chmod -R u+w sub", "git reset x", "git checkout main",
    "git restore --staged .", "git clean -nd", "git push", "git branch -d x", "git rm x",
    "git rm -r --cached sub", "git rm -n -r .", "git stash pop", "git worktree remove x",
    "systemctl status x", "init 3", "git submodule deinit x", "git update-ref x y",
]  # fmt: skip


def _patterns(line: str, policy: Policy) -> set[str]:
    open_policy = replace(policy, forbidden_commands=())
    findings = judge_line(line, policy.workspace, open_policy)
    told = " ".join(step for finding in findings for step in (finding.rule, *finding.steps))
    return {found.strip("()") for found in told.split("destructive pattern: ")[1:]}


@pytest.mark.parametrize(("line", "pattern"), BARE)
def test_what_loses_work_is_known_by_name(line: str, pattern: str, policy: Policy) -> None:
    assert any(found.startswith(pattern) for found in _patterns(line, policy))


@pytest.mark.parametrize("line", NOT_BARE)
def test_what_loses_nothing_is_no_such_pattern(line: str, policy: Policy) -> None:
    assert _patterns(line, policy) == set()


def _ticking(step: float) -> Iterator[float]:
    return (tick * step for tick in count())


def test_what_takes_too_long_is_high_and_said_once(policy: Policy) -> None:
    clock = _ticking(BUDGET_S)
    findings = judge_line("ls; ls; ls; ls", policy.workspace, policy, lambda: next(clock))
    late = [finding for finding in findings if finding.rule == "time budget"]
    assert [finding.risk for finding in late] == ["high"]


def test_a_clock_that_stands_still_holds_nothing(policy: Policy) -> None:
    findings = judge_line("ls; bash -c ls", policy.workspace, policy, lambda: 7.0)
    assert {finding.risk for finding in findings} == {"low"}


def test_the_time_runs_only_after_the_parser_has_started(policy: Policy) -> None:
    asked: list[int] = []

    def clock() -> float:
        asked.append(1)
        return 0.0

    judge_line("ls", policy.workspace, policy, clock)
    assert parser_path()
    assert len(asked) == 2, "once to begin, once for the only statement"


def test_shells_in_shells_are_bounded(policy: Policy) -> None:
    few = "; ".join(f"bash -c 'echo {i}'" for i in range(MAX_SCRIPTS - 1))
    many = "; ".join(f"bash -c 'echo {i}'" for i in range(30))
    assert _verdict(few, policy).risk == "low"
    assert _verdict(many, policy).risk == "high"


def test_a_line_of_more_than_64_kilobytes_is_high(policy: Policy) -> None:
    assert _verdict("echo " + "a" * 65_536, policy).risk == "high"
    assert _verdict("echo " + "a" * 60_000, policy).risk == "low"


TAME = [
    "print(1 + 1)",
    "import sys; print(sys.version)",
    "import json, sys; print(json.load(sys.stdin)['name'])",
    "import flask; print(flask.__version__)",
    "from importlib.metadata import version; print(version('flask'))",
    "import os; print(os.getcwd(), os.environ.get('HOME'))",
    "import torch; print(torch.cuda.is_available())",
    "import re; p = re.compile('a'); print(p.match('a'))",
    "import platform; print(platform.system())",
    "for i in range(3):\n    print(i)",
]
WILD = [
    "import os; os.system('id')",
    "__import__('os')",
    "from os import system",
    "import sys; sys.modules['os'].system('x')",
    "import random; random._os.system('x')",
    "import re; re.enum.sys.modules",
    "x = eval",
    "open(input())",
    "f = open",
    "import functools; functools.partial(open, 'x')",
    "from pathlib import Path as P; P('/x').unlink()",
    "from pathlib import Path; Q = Path; Q('/etc/passwd').read_text()",
    "from pathlib import Path; print((Path('x') / '/etc/passwd').read_text())",
    "from pathlib import Path; print(Path('x').parent.parent)",
    "from foo import bar; bar('x')",
    "import foo; f = foo.bar; f('x')",
    "import foo; list(map(foo.bar, ['x']))",
    "import foo; print(*sorted(['a'], key=foo.x))",
    "import foo; foo.bar['x']()",
    "import sh; sh.ls()",
    "print(().__class__)",
    "getattr(1, 'x')",
    "import json; json.codecs.open('/etc/passwd')",
    "def f(): pass\nmatch f:\n    case object(__globals__=g): print(g)",
    "class A: pass",
    "import glob; g = glob.glob; print(g('/etc/*'))",
    "json = 1\nimport json",
    "print(",
    "x" * 9000,
]


@pytest.mark.parametrize("code", TAME)
def test_python_that_only_computes_is_tame(code: str) -> None:
    assert isinstance(tame_python(code), Tame)


@pytest.mark.parametrize("code", WILD, ids=lambda code: repr(code[:50]))
def test_python_that_may_do_more_is_wild(code: str) -> None:
    assert isinstance(tame_python(code), str)


def test_files_that_tame_python_opens_are_named() -> None:
    found = tame_python("import json; json.load(open('a.json')); open('b', 'w').write('x')")
    assert isinstance(found, Tame)
    assert (found.reads, found.writes) == (["a.json"], ["b"])


@pytest.mark.parametrize(
    ("code", "tame"),
    [
        ("console.log(process.version)", True),
        ("require('./package.json').version", True),
        ("[1,2].map(x => x * 2).join('-')", True),
        ("require('fs')", False),
        ("require('../x.json')", False),
        ("process['mainModule']", False),
        ("console['constructor']('x')()", False),
        ("process.exit(1)", False),
        ("/'/, process.kill(1) /'/", False),
        ("`${1}`", False),
        ("''.constructor.constructor('x')()", False),
        ("x".ljust(3000), False),
    ],
)
def test_javascript(code: str, tame: bool) -> None:
    assert (tame_javascript(code) is not None) is tame


@pytest.mark.parametrize(
    ("code", "tame"),
    [
        ("s/foo/bar/g", True),
        ("print if /x/", True),
        ("s|a|b|; tr/a/b/", True),
        ("s/x/`id`/", False),
        ("s/x/id/e", False),
        ("s/x/@{[1]}/", False),
        ("print; system 1", False),
        ("unlink", False),
    ],
)
def test_perl(code: str, tame: bool) -> None:
    assert tame_perl(code) is tame
