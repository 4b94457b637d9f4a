"""Continuations are folded exactly where bash folds them: the judged text is what runs."""

from __future__ import annotations

import random
import shutil
import subprocess

import pytest

from stormclaw.protocol.shell_text import CONTINUATION, fold_continuations

FOLDED = [
    ("ls \\\n -la", "ls  -la"),
    ("r\\\nm x", "rm x"),
    ('echo "$\\\n(id)"', 'echo "$(id)"'),
    ("echo \"a\\\nb\" 'c\\\nd'", "echo \"ab\" 'c\\\nd'"),
    ("echo $'a\\\nb' \\\nc", "echo $'a\\\nb' c"),
    ("echo $'it\\'s\\\nx'", "echo $'it\\'s\\\nx'"),
    ("echo \\\\\nls", "echo \\\\\nls"),
    ('echo "\\\\\\\nx"', 'echo "\\\\x"'),
    ("ls # a \\\nrm x", "ls # a \\\nrm x"),
    ("ls a\\\n#b", "ls a#b"),
    ("ls a#\\\nb", "ls a#b"),
    ("ls \\\n#b\\\nc", "ls #b\\\nc"),
    ("cat <<E\na\\\nb\nE\nls \\\nx", "cat <<E\nab\nE\nls x"),
    ("cat <<'E'\na\\\nb\nE\nls \\\nx", "cat <<'E'\na\\\nb\nE\nls x"),
    ('cat <<"E"\n\\\nE\n\\\nls', 'cat <<"E"\n\\\nE\nls'),
    ("cat <<\\E\n\\\nE\n\\\nls", "cat <<\\E\n\\\nE\nls"),
    ("cat <<-'E'\n\t\\\n\tE\n\\\nls", "cat <<-'E'\n\t\\\n\tE\nls"),
    ("cat <<A <<'B'\n\\\nx\nA\n\\\ny\nB\n\\\nz", "cat <<A <<'B'\nx\nA\n\\\ny\nB\nz"),
    ("cat <<E\nE\\\n\nls '\\\n'", "cat <<E\nE\nls '\\\n'"),
    ("cat <<< \\\nx", "cat <<< x"),
    ("echo $((1<<\\\n2)) '\\\n'", "echo $((1<<2)) '\\\n'"),
    ("((x = 1 << 2)); echo '\\\n'", "((x = 1 << 2)); echo '\\\n'"),
    ("echo `a '\\\n'` \\\nb", "echo `a ''` b"),
    ("echo \"$(echo '\\\n')\\\n\"", "echo \"$(echo '\\\n')\""),
    ("echo $\\\n(echo '\\\n')", "echo $(echo '\\\n')"),
    ("echo ${x:-'\\\n'}\\\n", "echo ${x:-'\\\n'}"),
    ("echo \"${x:-'\\\n'}\"", "echo \"${x:-''}\""),
    ("echo '\\\n", "echo '\\\n"),
    ("(a; (b)) \\\n# '\\\n", "(a; (b)) # '\\\n"),
    ("$\\\n'\\\n'", "$'\\\n'"),
    ("\\", "\\"),
    ("", ""),
]


@pytest.mark.parametrize(("line", "folded"), FOLDED)
def test_folds_where_bash_folds(line: str, folded: str) -> None:
    assert fold_continuations(line) == folded
    assert fold_continuations(folded) == folded


def test_text_without_continuations_is_the_same_object() -> None:
    line = "echo 'a' # b"
    assert fold_continuations(line) is line


ATOMS = (
    "echo ", "a", "b c", CONTINUATION, CONTINUATION, CONTINUATION, "'", "'", '"', '"', "#", " #",
    "\n", "\\\\", "\\", " ", "$x", "${x:-", "}", "$(echo ", "$", "<", "(", '")', "`echo ", "`", ";",
    ")", "<<E\n", "<<'E'\n", "\nE\n", "<<-E\n", "$'", "E", "|cat", "&&", "$((1+", "))", "{ echo ",
)  # fmt: skip


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash to compare with")
@pytest.mark.parametrize("seed", range(6))
def test_bash_prints_the_same_for_the_folded_text(seed: int) -> None:
    chance = random.Random(seed)
    compared = 0
    while compared < 20:
        line = "echo " + "".join(chance.choice(ATOMS) for _ in range(chance.randint(3, 12)))
        folded = fold_continuations(line)
        assert fold_continuations(folded) == folded
        if folded == line or _bash("-n", "-c", line).returncode:
            continue
        assert _bash("-c", line).stdout == _bash("-c", folded).stdout, (line, folded)
        compared += 1


def test_a_long_text_is_folded_in_one_pass() -> None:
    line = ("$" + CONTINUATION * 10) * 3000
    assert fold_continuations(line) == "$" * 3000


def _bash(*args: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["bash", *args],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env={"PATH": "/usr/bin:/bin", "x": "X"},
        timeout=60,
        check=False,
    )
