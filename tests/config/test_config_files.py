"""YAML files: read with their lines, every way to be wrong told with its place."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from stormclaw.config import files
from stormclaw.config.disk import user_home
from stormclaw.errors import ConfigError, Problem


def problems_of(path: Path) -> tuple[Problem, ...]:
    with pytest.raises(ConfigError) as caught:
        files.read_yaml(path)
    return caught.value.problems


def write(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "config.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_values_and_lines(tmp_path: Path) -> None:
    text = '# hello\na: 1\nb:\n  c: [x,\n      y]\n  "d.e": {f: true}\n'
    values, lines = files.read_yaml(write(tmp_path, text))
    assert values == {"a": 1, "b": {"c": ["x", "y"], "d.e": {"f": True}}}
    assert lines == {
        "a": 2, "b": 3, "b.c": 4, "b.c[0]": 4, "b.c[1]": 5, 'b."d.e"': 6, 'b."d.e".f': 6,
    }  # fmt: skip


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n", "null\n"])
def test_an_empty_file_is_an_empty_mapping(tmp_path: Path, text: str) -> None:
    assert files.read_yaml(write(tmp_path, text)).values == {}


def test_bom_and_windows_line_endings(tmp_path: Path) -> None:
    document = files.read_yaml(write(tmp_path, b"\xef\xbb\xbfa: 1\r\nb: two\r\n"))
    assert document == ({"a": 1, "b": "two"}, {"a": 1, "b": 2})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("off", "off"),
        ("no", "no"),
        ("true", True),
        ("False", False),
        ("2026-01-02", "2026-01-02"),
        ("12:30", "12:30"),
        ("0755", "0755"),
        ("1e3", 1000.0),
        ("1_048_576", 1048576),
        ("0x10", 16),
        ("~", None),
        ("", None),
        ("-.5", -0.5),
        ("1.2.3", "1.2.3"),
    ],
)
def test_scalars_are_those_of_yaml_1_2(text: str, value: object) -> None:
    read, _ = files.parse_any(f"[{text}]" if text else "[null]", "x")
    assert read == [value]
    assert type(read[0]) is type(value)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("a: [1\nb: 2\n", ":2:2", "invalid YAML"),
        ("a: b: c\n", ":1:5", "mapping values are not allowed"),
        ("a:\n\tb: 1\n", ":2:1", "a tab stands here"),
        ("a: 'x\n", ":2:1", "invalid YAML"),
        ("a: *gone\n", ":1:4", "undefined alias"),
        ("a: 1\n---\nb: 2\n", ":2:1", "another document"),
        ("- a\n- b\n", ":1", "this is a list"),
        ("just words\n", ":1", "this is a single value"),
        ("a: 1\n? [x]\n: 2\n", ":2", "a key must be a word"),
        ("a: !!python/object/apply:os.system [x]\n", ":1", "is not supported"),
        ("a: !!timestamp x\n", ":1", "is not supported"),
        ("a: !!int many\n", ":1", "'many' is not a valid int"),
        ("a: &a [*a]\n", ":1", "more than"),
        ("a: " + "[" * 400_000 + "]" * 400_000, ":1", "nested more than 50 levels"),
        ("a: \x01\n", "", "control characters are not allowed"),
    ],
)
def test_what_is_wrong_is_told_with_line_and_column(
    tmp_path: Path, text: str, place: str, message: str
) -> None:
    path = write(tmp_path, text)
    (problem,) = problems_of(path)
    assert problem.file == f"{path}{place}"
    assert message in problem.message


def test_aliases_of_aliases_do_not_fill_the_memory(tmp_path: Path) -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    (problem,) = problems_of(write(tmp_path, "\n".join(rows)))
    assert "more than 20,000 values" in problem.message


def test_merge_keys_work(tmp_path: Path) -> None:
    text = "a: &a {x: 1, y: 1}\nb: {<<: *a, y: 2}\n"
    assert files.read_yaml(write(tmp_path, text)).values["b"] == {"x": 1, "y": 2}


def test_every_duplicate_key_is_reported(tmp_path: Path) -> None:
    path = write(tmp_path, "a: 1\nb: {c: 1, c: 2}\na: 2\nd:\n  e: 1\n  e: 1\n")
    found = [(problem.file, problem.key) for problem in problems_of(path)]
    assert sorted(found) == [(f"{path}:2", "b.c"), (f"{path}:3", "a"), (f"{path}:6", "d.e")]


def test_a_folder_is_a_problem_not_a_traceback(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path)
    assert "this is a folder" in problem.message


def test_a_missing_file(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path / "none.yaml")
    assert "no such file" in problem.message


def test_a_named_pipe_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (problem,) = problems_of(tmp_path / "pipe")
    assert "not a regular file" in problem.message


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file(tmp_path: Path) -> None:
    path = write(tmp_path, "a: 1")
    path.chmod(0)
    (problem,) = problems_of(path)
    assert "cannot be read: Permission denied" in problem.message


def test_a_link_to_itself_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "loop.yaml"
    path.symlink_to(path)
    (problem,) = problems_of(path)
    assert "cannot be read" in problem.message


def test_a_file_that_is_not_utf8_names_the_line(tmp_path: Path) -> None:
    path = write(tmp_path, b"a: 1\nb: \xff\xfe\n")
    (problem,) = problems_of(path)
    assert problem.file == f"{path}:2"
    assert "UTF-8" in problem.message


def test_a_huge_file_is_refused(tmp_path: Path) -> None:
    (problem,) = problems_of(write(tmp_path, b"# " + b"x" * 1_000_001))
    assert "larger than" in problem.message


@pytest.mark.parametrize(
    "value",
    ["1e3", "off", "yes", "0755", "12:30", "<<", "~", "", "=", "a\nb", "é✓", " x ", "# a", "- a",
     "1_000", "2026-01-02", "a: b", "null", "True", True, 1.5, 1e5, None, 7, [], {},
     ["a", {"b": None}]],
)  # fmt: skip
def test_what_is_written_reads_back_equal(tmp_path: Path, value: Any) -> None:
    path = tmp_path / "deep" / "x.yaml"
    files.write_yaml(path, {"k": value, "m": {"n": [value]}})
    assert files.read_yaml(path).values == {"k": value, "m": {"n": [value]}}
    assert files.parse_any(f"k: {files.inline_yaml(value)}", "x")[0] == {"k": value}


def test_writing_is_private_and_leaves_nothing_beside(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    files.write_yaml(path, {"a": 1})
    files.write_yaml(path, {"a": 2})
    assert [one.name for one in tmp_path.iterdir()] == ["x.yaml"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_writing_follows_a_link(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "x.yaml").symlink_to(tmp_path / "dotfiles" / "real.yaml")
    files.write_yaml(tmp_path / "x.yaml", {"a": 1})
    assert (tmp_path / "x.yaml").is_symlink()
    assert files.read_yaml(tmp_path / "dotfiles" / "real.yaml").values == {"a": 1}


ENV = {"HOME": "/home/me", "DIR": "/srv", "EMPTY": ""}


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("~", "/home/me"),
        ("~/a", "/home/me/a"),
        ("a/~", "a/~"),
        ("$DIR/a", "/srv/a"),
        ("${DIR}x$EMPTY", "/srvx"),
        ("a$$b", "a$b"),
        ("100$", "100$"),
        ("$HOME/.x", "/home/me/.x"),
    ],
)
def test_expand(text: str, filled: str) -> None:
    assert files.expand(text, ENV) == filled


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("$NOPE/a", "NOPE is not set"),
        ("${NOPE}", "NOPE is not set"),
        ("~nobody-like-this/x", "no user nobody-like-this"),
    ],
)
def test_expand_names_what_is_missing(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        files.expand(text, ENV)


def test_home_dir() -> None:
    assert files.home_dir(ENV) == Path("/home/me/.stormclaw")
    assert files.home_dir(ENV | {"STORMCLAW_HOME": "~/claw"}) == Path("/home/me/claw")
    assert files.home_dir(ENV | {"STORMCLAW_HOME": "/x/../y"}) == Path("/y")
    assert files.home_dir({"STORMCLAW_HOME": "rel"}) == Path.cwd() / "rel"
    assert user_home({}).is_absolute()
