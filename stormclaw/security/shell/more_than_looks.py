"""Programs that look, until a word makes them write, connect, load or set something."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from stormclaw.security.finding import Finding
from stormclaw.security.shell.command import Command
from stormclaw.security.shell.programs import Line

_IP_LOOKS = re.compile(r"(s|sh|sho|show|l|ls|lst|list|g|ge|get|h|help)")


@dataclass(frozen=True, slots=True)
class Sign:
    """A word that makes more of a program.

    Attributes:
        pattern: Fully matched against the words behind the program's name, one by one.
        why: What it does then.
    """

    pattern: re.Pattern[str]
    why: str


def _sign(pattern: str, why: str) -> Sign:
    return Sign(re.compile(pattern, re.S), why)


SIGNS: Mapping[str, Sign] = {
    "date": _sign(r"\d{8,12}(\.\d\d)?", "sets the clock"),
    "ss": _sign(r"-\w*[KNDF]\w*", "closes connections or writes a file"),
    "yq": _sign(r".*\bload(_\w+)?\s*\(.*|.*\$__loc__.*", "opens files its program names"),
    "jq": _sign(r"\s*(import|include)\b.*", "loads modules"),
    "tput": _sign(r"-S", "reads what to print from its input"),
    "lsof": _sign(r"-\w*D\w*|\+D.*|-k.*|-m.*", "writes or reads a cache of devices"),
    "cloc": _sign(r"--(config|read-lang-def|force-lang-def|extract-with|git|out|report-file|"
                  r"write-lang-def|vcs|sql|diff-alignment|ignored|counted|found|categorized|unicode"
                  r").*", "runs, reads or writes more than it counts"),
    "scc": _sign(r"(-o|--output).*|--format-multi.*", "writes a file"),
    "readelf": _sign(r"(-P|--process-links|--debug-file.*)", "follows links out of the file"),
    "objdump": _sign(r"(--plugin|--prefix|--dwarf-check|--target-plugin).*", "loads code"),
    "nm": _sign(r"--plugin.*", "loads code"),
    "man": _sign(r"-\w*[PHlC].*|--(pager|html|troff-device|gxditview|config-file|preprocessor).*|"
                 r"-[TXZ].*", "runs another program"),
    "bat": _sign(r"--(map-syntax-file|config-file|config-dir|generate-config-file|pager).*|cache",
                 "runs or writes more than it shows"),
    "sort": _sign(r"--compress-pro.*|--files0.*", "runs or reads more than it names"),
    "file": _sign(r"-\w*[CzZS]\w*|--(compile|uncompress|no-sandbox).*",
                  "runs other programs or writes"),
    "tree": _sign(r"--(fromfile|fromtabfile|infofile|gitfile|hintro|houtro).*",
                  "reads files its options name"),
}  # fmt: skip


def more_than_looks(command: Command, line: Line) -> Iterator[Finding]:
    """A finding where a program that is listed for looking does something else."""
    name, words = command.name, command.texts[1:]
    sign = SIGNS.get(name)
    if sign is not None and any(map(sign.pattern.fullmatch, words)):
        yield command.found("high", sign.why, f"more than looks: {name}")
    if name == "ip":
        yield from _ip(command, [operand.text for operand in line.operands])


def _ip(command: Command, operands: list[str]) -> Iterator[Finding]:
    """`ip OBJECT [VERB ...]`: without a verb it shows; everything but showing changes."""
    verb = operands[1] if len(operands) > 1 else "show"
    if not _IP_LOOKS.fullmatch(verb):
        yield command.found("high", f"ip {verb} changes the network", "more than looks: ip")
