"""`session export`: a session as a file to read, to keep, or to go on with in Claude Code."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from stormclaw.cli.options import place_from
from stormclaw.cli.verbs import Verb
from stormclaw.commands.exporting import FORMATS, chosen, for_claude, readable, write_new
from stormclaw.config.disk import user_home
from stormclaw.config.place import Place
from stormclaw.errors import UsageError
from stormclaw.protocol.inert import inert
from stormclaw.protocol.messages import Node
from stormclaw.store import sessions, transcripts
from stormclaw.store.sessions import SessionInfo


def claude_home(place: Place) -> Path:
    """Where Claude Code keeps what is its own."""
    return Path(place.env.get("CLAUDE_CONFIG_DIR") or user_home(place.env) / ".claude")


def _export(options: argparse.Namespace) -> int:
    place = place_from(options)
    info = _session(place, options.session_id)
    reading = transcripts.read(sessions.folder(place.home, info.id))
    for problem in reading.problems:
        sys.stderr.write(f"{inert(problem)}\n")
    if options.format == "claude":
        return _claude(options, place, info, reading.nodes)
    if options.install:
        raise UsageError("--install is for `--format claude`")
    branches = (options.branch or ("all" if options.format == "json" else "current")) == "all"
    nodes = chosen(reading.nodes, agents=options.agent == "all", branches=branches)
    _put(options.output, readable(info, nodes, options.format))
    return 0


def _session(place: Place, wanted: str) -> SessionInfo:
    if wanted:
        return sessions.load(place.home, wanted)
    info = sessions.latest(place.home, place.workspace)
    if info is None:
        raise UsageError(f"no session in {place.workspace}; `stormclaw session list --all`")
    return info


def _claude(
    options: argparse.Namespace, place: Place, info: SessionInfo, nodes: tuple[Node, ...]
) -> int:
    if options.branch == "all":
        raise UsageError("Claude Code goes on with one branch; leave --branch all away")
    if options.install and options.output != "-":
        raise UsageError("--install decides where the file goes; leave --output away")
    cwd = info.workspace if info.workspace.is_dir() else place.workspace
    session, transcript = for_claude(info, nodes, cwd)
    command = f"cd {shlex.quote(str(cwd))} && claude --resume {session}"
    if options.install:
        from stormclaw.store.export.claude import install

        path = install(claude_home(place), cwd, session, transcript)
        sys.stderr.write(f"written: {inert(str(path))}\n")
        print(inert(command))
        return 0
    _put(options.output, transcript)
    sys.stderr.write(
        f"to go on with it, it must be called {session}.jsonl and lie where Claude Code looks "
        f"(--install puts it there); then: {inert(command)}\n"
    )
    return 0


def _put(output: str, text: str) -> None:
    if output == "-":
        sys.stdout.write(text)
        return
    path = Path(output)
    write_new(path, text)
    sys.stderr.write(f"written: {inert(str(path))}\n")


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "session_id", nargs="?", default="", metavar="ID", help="the newest of this folder if left"
    )
    parser.add_argument(
        "--format", choices=FORMATS, default="markdown", help="markdown if not given"
    )
    parser.add_argument(
        "--output", "-o", default="-", metavar="FILE", help="a new file; - for standard output"
    )
    parser.add_argument(
        "--agent", choices=("root", "all"), default="all", help="without sub-agents, or with them"
    )
    parser.add_argument(
        "--branch",
        choices=("current", "all"),
        help="the branch that goes on, or everything (what json does if this is not given)",
    )
    parser.add_argument(
        "--install",
        action="store_true",
        help="with `--format claude`: put it where claude finds it, and say how to go on",
    )


VERBS = {
    "export": Verb(
        "A session as Markdown, HTML, JSON, or as a transcript `claude --resume` accepts",
        "stormclaw session export --format html --output session.html\n"
        "  stormclaw session export 20261122-0143 --format claude --install",
        _export,
        _arguments,
    ),
}
