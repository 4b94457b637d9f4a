"""The log: one line an event, JSON on demand, and never a secret."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from stormclaw import log

KEY = "sk-or-v1-0123456789abcdef0123456789abcdef"
logger = logging.getLogger("stormclaw.test_log")


def log_failure(error: Exception) -> None:
    try:
        raise error
    except type(error):
        logger.exception("it broke")


@pytest.fixture(autouse=True)
def restore_logging() -> Iterator[None]:
    root, own = logging.getLogger(), logging.getLogger("stormclaw")
    before = (list(root.handlers), own.level, logging.raiseExceptions)
    yield
    logging.captureWarnings(False)
    for handler in [one for one in root.handlers if one not in before[0]]:
        root.removeHandler(handler)
        handler.close()
    own.setLevel(before[1])
    logging.raiseExceptions = before[2]


class Screen:
    """What stood on standard error so far."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self._capture = capture
        self._text = ""

    def getvalue(self) -> str:
        self._text += self._capture.readouterr().err
        return self._text


@pytest.fixture
def stderr(capsys: pytest.CaptureFixture[str]) -> Screen:
    return Screen(capsys)


def test_standard_error_gets_warnings_only_unless_asked(stderr: Screen) -> None:
    log.setup(env={})
    log.event(logger, "startup", version="1")
    logger.warning("mind the gap")
    assert "startup" not in stderr.getvalue()
    assert "mind the gap" in stderr.getvalue()


@pytest.mark.parametrize(("env", "verbose"), [({"STORMCLAW_LOG": "info"}, False), ({}, True)])
def test_info_is_shown_when_asked_for(stderr: Screen, env: dict[str, str], verbose: bool) -> None:
    log.setup(env=env, verbose=verbose)
    log.event(logger, "tool_requested", tool="shell_exec", command="git status", rounds=2)
    line = stderr.getvalue()
    assert re.fullmatch(
        r"\d\d:\d\d:\d\d INFO tool_requested tool=shell_exec command=\"git status\" rounds=2\n",
        line,
    )


def test_json_is_one_object_a_line_with_the_fields(stderr: Screen) -> None:
    log.setup(env={"STORMCLAW_LOG": "json"})
    log.event(logger, "tool_completed", tool="glob", paths=[Path("/a"), None], ok=True)
    logger.info("two\nlines")
    first, second = map(json.loads, stderr.getvalue().splitlines())
    assert first["event"] == "tool_completed"
    assert first["tool"] == "glob"
    assert first["paths"] == ["/a", None]
    assert first["ok"] is True
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first["ts"])
    assert second["message"] == "two\nlines"


@pytest.mark.parametrize("style", ["json", "info"])
def test_secrets_are_masked_wherever_they_stand(stderr: Screen, style: str) -> None:
    log.setup(env={"STORMCLAW_LOG": style})
    log.event(logger, "tool_requested", tool="http", arguments={"headers": {"x-api-key": "hush"}})
    log.event(logger, "tool_failed", reason=f"401 for {KEY}", api_key="hush", parts=[KEY])
    logger.warning("calling https://me:hush-hush@host/ with Authorization: Bearer hush-token-1")
    log_failure(ValueError(f"bad key {KEY}"))
    text = stderr.getvalue()
    assert KEY not in text
    assert "hush" not in text
    assert text.count("***") >= 6
    assert "ValueError" in text


def test_the_given_redaction_is_used(stderr: Screen) -> None:
    log.setup(env={"STORMCLAW_LOG": "json"}, redact=lambda text: text.replace("blue", "red"))
    log.event(logger, "startup", colour="blue", nested={"a": ["blue"]})
    line = json.loads(stderr.getvalue())
    assert (line["colour"], line["nested"]) == ("red", {"a": ["red"]})


def test_foreign_text_cannot_break_the_line_or_the_terminal(stderr: Screen) -> None:
    log.setup(env={"STORMCLAW_LOG": "info"})
    log.event(logger, "tool_requested", tool="x\n12:00:00 INFO fake\x1b[2J\u202e")
    assert stderr.getvalue().count("\n") == 1
    assert "\x1b" not in stderr.getvalue()
    assert "\u202e" not in stderr.getvalue()


def test_a_traceback_follows_indented(stderr: Screen) -> None:
    log.setup(env={})
    log_failure(KeyError("lost"))
    first, *rest = stderr.getvalue().splitlines()
    assert first.endswith("it broke")
    assert rest[0] == "  Traceback (most recent call last):"
    assert all(line.startswith("  ") for line in rest)


def test_with_a_file_standard_error_stays_silent(stderr: Screen, tmp_path: Path) -> None:
    target = tmp_path / "logs" / "stormclaw.log"
    log.setup(env={}, to=target)
    log.event(logger, "startup")
    logging.getLogger("some.library").warning("noise")
    warnings.warn("careful", UserWarning, stacklevel=1)
    assert stderr.getvalue() == ""
    text = target.read_text()
    assert "startup" in text
    assert "noise" in text
    assert target.stat().st_mode & 0o777 == 0o600


def test_the_later_setup_replaces_the_earlier(stderr: Screen, tmp_path: Path) -> None:
    log.setup(env={"STORMCLAW_LOG": "info"})
    log.setup(env={"STORMCLAW_LOG": "info"}, to=tmp_path / "a.log")
    log.event(logger, "startup")
    assert stderr.getvalue() == ""
    assert (tmp_path / "a.log").read_text().count("startup") == 1


def test_a_grown_file_is_moved_aside(tmp_path: Path) -> None:
    target = tmp_path / "a.log"
    target.write_bytes(b"x" * (log.MAX_LOG_BYTES + 1))
    log.setup(env={}, to=target)
    log.event(logger, "startup")
    assert target.stat().st_size < 1000
    assert (tmp_path / "a.log.1").stat().st_size > log.MAX_LOG_BYTES


def test_a_file_that_cannot_be_written_is_no_crash(stderr: Screen, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    log.setup(env={}, to=tmp_path / "file" / "a.log")
    logger.error("nobody hears this")
    assert stderr.getvalue() == ""


def test_a_redaction_that_fails_paints_no_traceback(stderr: Screen) -> None:
    def broken(text: str) -> str:
        raise ZeroDivisionError(text)

    log.setup(env={}, redact=broken)
    logger.error("hello")
    assert stderr.getvalue() == ""


@pytest.mark.parametrize(
    "text",
    [
        KEY,
        "sk-ant-REDACTED",
        "ghp_0123456789abcdefghijABCDEFGHIJ",
        "github_pat_11ABCDEFG0123456789_abc",
        "xoxb-1234567890-abcdef",
        "AKIAIOSFODNN7EXAMPLE",
        "AIzaSyA0123456789abcdefghijklmnopqrstuv",
        "gsk_0123456789abcdefghijklmnop",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_keys_are_known_by_their_shape(text: str) -> None:
    assert log.looks_like_key(f"see {text} there")
    masked = log.mask_secrets(f"see {text} there")
    assert masked == "see *** there"


@pytest.mark.parametrize(
    "text",
    [
        "task-runner-for-the-whole-team",
        "max_tokens=30000",
        "the token was spent",
        "https://example.com/path?page=2",
        "user@example.com",
        "risk-assessment-document",
        "d41d8cd98f00b204e9800998ecf8427e",
        "/home/me/sk/notes.txt",
    ],
)
def test_plain_text_is_left_alone(text: str) -> None:
    assert log.mask_secrets(text) == text


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ('{"api_key": "abcdef123"}', '{"api_key": "***"}'),
        ("password=hunter2222&x=1", "password=***&x=1"),
        ("Authorization: Bearer abcdef123456", "Authorization: Bearer ***"),
        ("https://me:pass@host/x", "https://***@host/x"),
    ],
)
def test_named_secrets_are_masked(text: str, masked: str) -> None:
    assert log.mask_secrets(text) == masked


def test_importing_it_is_cheap() -> None:
    code = "import sys, stormclaw.log; print([m for m in ('yaml', 'msgspec') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
