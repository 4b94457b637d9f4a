"""The demo's longer errands: a look around with two sub-agents, a description, a plan, help."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final, assert_never

from stormclaw.providers._demo.grammar import (
    Append,
    Create,
    Describe,
    Explore,
    Find,
    Help,
    Intent,
    ListFiles,
    Plan,
    ReadFile,
    Remember,
    Replace,
    Run,
    Time,
    Unknown,
    understand,
)
from stormclaw.providers._demo.step import Call, Done, Step, ask, of_tool
from stormclaw.providers._demo.text import code, counted, numbered_lines, quote, trouble

NOTICE: Final = (
    "I am the **demo**: my words are scripted, no model is connected. My tools are real. "
    "`/connect` brings a model.\n\n"
)
SCOUT_TASK: Final = "Map this project: list its files and say what it is made of."
READER_TASK: Final = "Read what this project says about itself, and find what it leaves to do."
MANIFESTS: Final = ("pyproject.toml", "package.json", "Cargo.toml", "go.mod", "pom.xml", "Makefile")
UNDERSTOOD: Final = """\
- `list the files`, `list the files in src`
- `read README.md`
- `find TODO`, `find *.py`
- `replace "old" with "new" in notes.txt`
- `create notes.txt with a line`, `append "another" to notes.txt`
- `run git status`
- `explore this project`: two sub-agents, side by side
- `what does this project do?`, `plan`, `remember that ...`, `what time is it?`"""


def explore(done: Sequence[Done]) -> Step:
    """Two sub-agents at once, then their reports."""
    if not done:
        calls = (
            Call("spawn_agent", {"task": SCOUT_TASK, "name": "scout"}),
            Call("spawn_agent", {"task": READER_TASK, "name": "reader"}),
        )
        return Step("Two sub-agents look around: one maps the files, one reads.", calls)
    parts = []
    for each in done:
        name = str(each.arguments.get("name", "agent"))
        report = each.output.strip() if each.ok else trouble(each.outcome)
        parts.append(f"### {name}\n\n{report}")
    parts.append("Both reports are scripted too: they count and quote, they do not understand.")
    return Step("\n\n".join(parts))


def scout(done: Sequence[Done]) -> Step:
    """The first sub-agent: list, look for tests, count."""
    if not done:
        calls = (
            Call("list_files", {"path": ".", "depth": 3}),
            Call("glob", {"pattern": "**/*test*"}),
        )
        return Step("Listing the files and looking for tests.", calls)
    listed = of_tool(done, "list_files")
    if not listed or not listed[0].ok:
        return Step(trouble(done[0].outcome))
    names = _names(listed[0].output)
    files = [name for name in names if not name.endswith("/")]
    kinds = Counter(PurePosixPath(name).suffix or "no suffix" for name in files)
    common = ", ".join(f"{count} {code(kind)}" for kind, count in kinds.most_common(5))
    built = [name for name in MANIFESTS if name in files]
    lines = [f"- {counted(len(files), 'file')} in three levels{f': {common}' if common else ''}"]
    if built:
        lines.append(f"- built with {', '.join(map(code, built))}")
    tests = of_tool(done, "glob")
    if tests and tests[0].ok:
        lines.append(f"- named like tests: {tests[0].outcome.summary or 'some'}")
    return Step("\n".join(lines))


def reader(done: Sequence[Done]) -> Step:
    """The second sub-agent: read the README, find what is left to do."""
    if not done:
        return ask("Looking for a README.", "list_files", path=".")
    if not of_tool(done, "grep"):
        calls = [Call("grep", {"pattern": r"\b(TODO|FIXME|XXX)\b"})]
        if done[0].ok and (readme := _readme(_names(done[0].output))):
            calls.insert(0, Call("read_file", {"path": readme}))
        return Step("Reading, and searching for what is left to do.", tuple(calls))
    lines = []
    for read in of_tool(done, "read_file"):
        path = str(read.arguments["path"])
        if read.ok:
            lines.append(f"{code(path)} begins:\n\n{quote(_first_words(read.output))}\n")
        else:
            lines.append(f"{trouble(read.outcome)}\n")
    found = of_tool(done, "grep")[-1]
    left = found.outcome.summary if found.ok else "could not be searched"
    lines.append(f"Marked TODO, FIXME or XXX: {left or 'nothing'}.")
    return Step("\n".join(lines))


def describe(done: Sequence[Done]) -> Step:
    """List, read the README and what builds the project, quote."""
    if not done:
        return ask("Looking for what the project says about itself.", "list_files", path=".")
    if not done[0].ok:
        return Step(trouble(done[0].outcome))
    reads = of_tool(done, "read_file")
    names = _names(done[0].output)
    if not reads:
        wanted = [name for name in (_readme(names), *MANIFESTS) if name in names][:2]
        if not wanted:
            return Step(
                f"It has {counted(len(names), 'entry')}, but no README and nothing that builds it."
            )
        calls = tuple(Call("read_file", {"path": name}) for name in wanted)
        return Step(f"Reading {' and '.join(map(code, wanted))}.", calls)
    parts = []
    for read in reads:
        path = code(str(read.arguments["path"]))
        words = _first_words(read.output) if read.ok else ""
        parts.append(f"{path} says:\n\n{quote(words)}" if words else f"{path}: nothing to quote.")
    parts.append("I can quote it; to have it explained, connect a model with `/connect`.")
    return Step("\n\n".join(parts))


def plan(intent: Plan) -> Step:
    """The steps a request would take, without taking them."""
    if not intent.request.strip():
        return Step(
            "A way to see what this program does, one line each:\n\n"
            "1. `explore this project`: two sub-agents in the panel\n"
            '2. `create notes.txt with "first line"`: a diff to approve\n'
            '3. `replace "first" with "second" in notes.txt`: an edit, with its receipt\n'
            "4. `/receipts`: everything that was tried, chained\n"
            "5. `/connect`: a real model"
        )
    steps = _steps(understand(intent.request))
    if not steps:
        return Step(f"I have no plan for {code(intent.request)}. I understand:\n\n{UNDERSTOOD}")
    listed = "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))
    return Step(
        f"For {code(intent.request)} I would:\n\n{listed}\n\nSay it without `plan` and I do it."
    )


def _steps(intent: Intent) -> tuple[str, ...]:
    match intent:
        case ListFiles(path):
            return (f"list {code(path)}", "name what is there")
        case ReadFile(path):
            return (f"read {code(path)}", "show how it begins")
        case Find(text, path):
            return (f"search {code(path)} for {code(text)}", "show the places")
        case Create(path):
            return (f"show you {code(path)} as it would be", "write it if you allow it")
        case Append(path) | Replace(path=path):
            return (
                f"read {code(path)}",
                "show you the change as a diff",
                "make it if you allow it",
            )
        case Run(command):
            return (f"ask the gate about {code(command)}", "run it if it may", "show how it ended")
        case Remember():
            return ("add the note to MEMORY.md, where later sessions read it",)
        case Explore():
            return ("start two sub-agents, scout and reader", "bring their reports together")
        case Describe():
            return ("look for a README", "quote how it begins")
        case Time():
            return ("ask for the time",)
        case Help() | Plan() | Unknown():
            return ()
        case _:
            assert_never(intent)


def help_text() -> Step:
    """What the demo understands."""
    return Step(f"I understand a few plain requests, and do them with real tools:\n\n{UNDERSTOOD}")


def unknown(text: str) -> Step:
    """Not understood: say so, and what would be."""
    first = text.strip().split("\n")[0][:80]
    said = f" {code(first)}" if first else " that"
    return Step(
        f"I have no script for{said}. A model would; `/connect` brings one. Until then I "
        f"understand:\n\n{UNDERSTOOD}"
    )


def _names(output: str) -> list[str]:
    return [line for line in output.splitlines() if line and line[0] not in "…("]


def _readme(names: Sequence[str]) -> str:
    return next((name for name in names if re.match(r"readme\b", name, re.I)), "")


def _first_words(output: str) -> str:
    """The first paragraph of a file, with its title."""
    words: list[str] = []
    for line in numbered_lines(output)[:60]:
        plain = line.strip().lstrip("#").strip()
        if re.match(r"[A-Za-z\"'\[]", plain):
            words.append(plain[:300])
        elif len(words) > 1 and not plain:
            break
        if len(words) == 4:
            break
    return "\n".join(words)
