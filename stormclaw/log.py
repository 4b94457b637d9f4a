"""What the program did, for whoever runs it: one line an event, or JSON, and never a secret."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

from stormclaw.protocol.inert import inert

EventName: TypeAlias = Literal[
    "startup",
    "config_path",
    "workspace_path",
    "provider_selected",
    "provider_fallback",
    "channel_started",
    "conversation_started",
    "tool_requested",
    "tool_approved",
    "tool_denied",
    "tool_completed",
    "tool_failed",
    "receipt_written",
    "memory_persisted",
    "estop_triggered",
]

MASK = "***"
MAX_LOG_BYTES = 5_000_000
LEVELS: Mapping[str, int] = {
    "json": logging.INFO,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
"""What STORMCLAW_LOG may say; anything else means `info`."""

KEY_SHAPES: tuple[str, ...] = (
    r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{12,}",
    r"\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{10,}",
    r"\bgh[pousr]_[A-Za-z0-9]{20,}",
    r"\bgithub_pat_[A-Za-z0-9_]{20,}",
    r"\bglpat-[A-Za-z0-9_-]{16,}",
    r"\bxox[a-z]-[A-Za-z0-9-]{10,}",
    r"\bhttps://hooks\.slack\.com/services/[A-Za-z0-9/]{16,}",
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    r"\bAIza[0-9A-Za-z_-]{30,}",
    r"\b(?:gsk|hf|r8|tgp_v1|nvapi|npm|pypi)[_-][A-Za-z0-9_-]{20,}",
    r"\b(?:xai|pplx|tvly|fw)[_-][A-Za-z0-9_-]{20,}",
    r"(?<![A-Za-z0-9_.-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?:.|\n)*?"
    r"(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
)
"""What a key looks like on its own, wherever it stands."""

_WORDS = (
    r"api[_-]?key|(?:access|account|secret|private|signing)[_-]?key|client[_-]?secret|secret|token"
    r"|passwd|password|passphrase|authorization|x-amz-signature|cookie"
)
_MARKED: tuple[str, ...] = (
    # password: "with blanks in it", also within JSON in JSON
    rf"(?P<name>(?:{_WORDS})(?:\\?[\"'])?\s{{0,4}}(?::=|=>|[:=])\s{{0,4}}\\?[\"'])"
    r"(?!(?:bearer|basic|token)\s)(?P<secret>[^\"'\\\n]{4,512})(?=[\"'\\])",
    rf"(?P<name>(?:{_WORDS})(?:\\?[\"'])?\s{{0,4}}(?::=|=>|[:=])\s{{0,4}}(?:\\?[\"'])?"
    r"(?:(?:bearer|basic|token)\s{1,4})?)"
    r"(?!(?:bearer|basic|token)\s)(?P<secret>[^\s\"'\\,;&}]{6,})",
    r"(?P<name>(?<=[_?&-])key[\"']?\s{0,4}[:=]\s{0,4}[\"']?)(?P<secret>[^\s\"',;&}]{16,})",
    rf"(?P<name>(?<=-)(?:{_WORDS})\s{{1,4}}[\"']?)(?!-)(?P<secret>[^\s\"']{{6,}})",
    r"(?P<name>(?<!\S)(?:-u|--user)[\s=]{0,4}[\"']?[^\s:\"']{1,64}:)(?!\d+\b)(?P<secret>[^\s\"']{4,})",
    r"(?P<name>\blogin\s{1,4}\S{1,128}\s{1,4}password\s{1,4})(?P<secret>\S{4,})",
    r"(?P<name>\bbearer\s{1,4})(?P<secret>[A-Za-z0-9._~+/=-]{8,})",
    r"(?P<name>(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,20}://)(?P<secret>[^\s/@\"']{1,256})(?=@)",
    r"(?P<name>(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,20}://)(?P<secret>[^\s/:\"']{1,64}:[^\s/\"']{1,256})(?=@)",
)
"""Where a secret stands after its name: assignments, headers, options, addresses."""

_TELLING_NAME = (
    r"(?:api[_-]?key|token|secret|passwd|password|authorization|cookie|credentials?)$"
    r"|(?:^|[_-])key$"
)


@cache
def _keys() -> re.Pattern[str]:
    return re.compile("|".join(KEY_SHAPES))


@cache
def _marked() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in _MARKED)


@cache
def _names() -> re.Pattern[str]:
    return re.compile(_TELLING_NAME, re.IGNORECASE)


def looks_like_key(text: str) -> bool:
    """Whether a key of a known shape stands anywhere in the text."""
    return _keys().search(text) is not None


def names_a_secret(name: str) -> bool:
    """Whether a field or header of this name holds a secret: `x-api-key`, `auth_token`."""
    return _names().search(name) is not None


def mask_secrets(text: str) -> str:
    """The text with everything shaped like a key, or named as one, replaced by `***`."""
    return mask_named(_keys().sub(MASK, text))


def mask_named(text: str) -> str:
    """The text with everything named as a secret replaced by `***`; linear time."""
    for pattern in _marked():
        text = pattern.sub(_unless_masked, text)
    return text


def _unless_masked(found: re.Match[str]) -> str:
    secret = found["secret"]
    return found[0] if MASK in secret[:12] else f"{found['name']}{MASK}"


def one_line(text: str) -> str:
    """The text inert and on one line: what ends a line or moves the cursor shows as an escape."""
    return "\\n".join(map(inert, text.replace("\r\n", "\n").split("\n")))


def event(
    logger: logging.Logger, name: EventName, /, *, level: int = logging.INFO, **fields: object
) -> None:
    """Log one of the named events.

    Args:
        logger: `logging.getLogger(__name__)` of the caller.
        name: Which event.
        level: A level of `logging`.
        fields: What belongs to it; anything JSON does not know is logged as its `str`.
    """
    logger.log(level, name, extra={"fields": fields})


def setup(
    *,
    env: Mapping[str, str],
    redact: Callable[[str], str] = mask_secrets,
    to: Path | None = None,
    verbose: bool = False,
) -> None:
    """Send the program's log to standard error or, where a screen is in the way, to a file.

    Standard error gets warnings and worse, unless `STORMCLAW_LOG` (`json`, `debug`, `info`,
    `warning`, `error`) or `verbose` asks for more; a file gets everything from `info` up.
    May be called again: the later call replaces the earlier.

    Args:
        env: The environment.
        redact: Removes secrets from a text; applied to every value logged.
        to: A file to append to (created 0600, moved to `NAME.1` when it grew over 5 MB);
            standard error then stays silent, for third-party libraries too. Where the file
            cannot be written, nothing is logged.
        verbose: `-v`.
    """
    wish = env.get("STORMCLAW_LOG", "").strip().lower()
    default = logging.INFO if to or verbose else logging.WARNING
    level = LEVELS.get(wish, logging.INFO) if wish else default
    handler = _file_handler(to) if to else logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(redact) if wish == "json" else HumanLines(redact))
    root = logging.getLogger()
    for old in [one for one in root.handlers if isinstance(one.formatter, HumanLines | JsonLines)]:
        root.removeHandler(old)
        old.close()
    root.addHandler(handler)
    logging.getLogger("stormclaw").setLevel(level)
    logging.captureWarnings(to is not None)
    # A log line that cannot be written must not paint a traceback over the screen.
    logging.raiseExceptions = False


def _file_handler(path: Path) -> logging.Handler:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size > MAX_LOG_BYTES:
            path.replace(path.with_name(f"{path.name}.1"))
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
        return logging.FileHandler(path, encoding="utf-8", errors="backslashreplace")
    except OSError:
        return logging.NullHandler()


class HumanLines(logging.Formatter):
    """`12:03:04 INFO tool_requested tool=glob`, one line an event; tracebacks follow indented."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """One record as text."""
        fields = _fields(record, self._redact)
        message = self._redact(record.getMessage())
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        pairs = [f"{name}={_shown(value)}" for name, value in fields.items()]
        source = [] if _is_event(record) else [f"{record.name}:"]
        line = one_line(" ".join([clock, record.levelname, *source, message, *pairs]))
        trace = self._redact(_trace(self, record))
        return "\n  ".join([line, *map(one_line, trace.splitlines())])


class JsonLines(logging.Formatter):
    """One JSON object a line: `ts` (UTC), `level`, `logger`, `event` or `message`, the fields."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """One record as JSON."""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, object] = {
            **_fields(record, self._redact),
            "ts": f"{stamp}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "event" if _is_event(record) else "message": self._redact(record.getMessage()),
        }
        if trace := _trace(self, record):
            line["traceback"] = self._redact(trace)
        return json.dumps(line, ensure_ascii=True, default=str)


def _is_event(record: logging.LogRecord) -> bool:
    return isinstance(getattr(record, "fields", None), Mapping)


def _trace(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    return formatter.formatException(record.exc_info) if record.exc_info else ""


def _fields(record: logging.LogRecord, redact: Callable[[str], str]) -> dict[str, object]:
    given = getattr(record, "fields", None)
    if not isinstance(given, Mapping):
        return {}
    return {str(name): _clean(str(name), value, redact) for name, value in given.items()}


def _clean(name: str, value: object, redact: Callable[[str], str]) -> object:
    """A value without secrets, made of what JSON knows."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if names_a_secret(name):
        return MASK
    if isinstance(value, Mapping):
        return {str(key): _clean(str(key), inner, redact) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_clean("", inner, redact) for inner in value]
    return redact(str(value))


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    needs_quotes = isinstance(value, str) and (not text or re.search(r"[\s\"=]", text))
    return json.dumps(text, ensure_ascii=False) if needs_quotes else text
