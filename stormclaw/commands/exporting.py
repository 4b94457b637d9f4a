"""A session in the form somebody asked for; the same for the command line and `/export`."""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from stormclaw.errors import UsageError
from stormclaw.protocol.messages import ROOT, Node
from stormclaw.store.branches import branch, current
from stormclaw.store.durable import store_error
from stormclaw.store.sessions import SessionInfo

Format: TypeAlias = Literal["markdown", "json", "html", "claude"]

FORMATS: tuple[Format, ...] = get_args(Format)
SUFFIXES = {"markdown": "md", "json": "json", "html": "html", "claude": "jsonl"}


def chosen(nodes: Sequence[Node], *, agents: bool, branches: bool) -> tuple[Node, ...]:
    """The nodes to export.

    Args:
        nodes: A whole transcript.
        agents: Sub-agents' conversations, too.
        branches: All branches, not only the one that goes on.
    """
    kept = tuple(nodes) if branches else current(nodes)
    return kept if agents else tuple(node for node in kept if node.agent == ROOT)


def readable(info: SessionInfo, nodes: Sequence[Node], form: Format) -> str:
    """The session as Markdown, HTML or JSON.

    Args:
        info: The session.
        nodes: What to export, from `chosen`.
        form: Any but `claude`, which is `for_claude`.
    """
    if form == "markdown":
        from stormclaw.store.export.markdown import to_markdown

        return to_markdown(info, nodes)
    if form == "html":
        from stormclaw.store.export.html_page import to_html

        return to_html(info, nodes)
    from stormclaw.store.export.json_file import to_json

    return to_json(info, nodes)


def for_claude(info: SessionInfo, nodes: Sequence[Node], cwd: Path) -> tuple[uuid.UUID, str]:
    """What the model would be sent now, as a transcript of Claude Code -> (its id, the rows).

    Args:
        info: The session.
        nodes: A whole transcript.
        cwd: The folder it will be resumed in.

    Raises:
        UsageError: Nothing was said yet.
    """
    from stormclaw.agent.context.window import window
    from stormclaw.store.export.claude import stamped, to_claude

    trunk = branch([node for node in nodes if node.agent == ROOT])
    session = uuid.uuid4()
    return session, to_claude(info, stamped(window(trunk), trunk), session, cwd)


def write_new(path: Path, text: str) -> None:
    """Write a file that is not there yet, for this user alone.

    Raises:
        UsageError: Something of that name is there, or its folder is not.
        StoreError: The disk refuses; nothing is left of it.
    """
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise UsageError(f"{path} is there already; name another file") from None
    except FileNotFoundError:
        raise UsageError(f"{path.parent} does not exist; name another file") from None
    except OSError as error:
        raise store_error("write", path, error) from error
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise store_error("write", path, error) from error
