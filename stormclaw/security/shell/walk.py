"""Walks a parsed shell line: every command in it is found, unwrapped and judged."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from stormclaw.protocol.shell_text import fold_continuations
from stormclaw.security.finding import Finding, severity, worst
from stormclaw.security.network_need import network_words
from stormclaw.security.policy import Policy
from stormclaw.security.shell import limits
from stormclaw.security.shell.assigning import judge_assign
from stormclaw.security.shell.command import Command, names_in, program_names
from stormclaw.security.shell.constructs import judge_group
from stormclaw.security.shell.feeds import NO_FEED, Feed, redirected
from stormclaw.security.shell.network import saved
from stormclaw.security.shell.operands import HARMLESS_DEVICES, judge_arg, judge_redirect
from stormclaw.security.shell.patterns import FORK_BOMB
from stormclaw.security.shell.places import judge_command
from stormclaw.security.shell.removals import empties
from stormclaw.security.shell.scope import Scope
from stormclaw.security.shell.second_opinion import disagreement, pieces, too_large
from stormclaw.security.shell.shell_builtins import trapped_code
from stormclaw.security.shell.shell_read import computes, read
from stormclaw.security.shell.shell_tree import (
    Call,
    Chain,
    Function,
    Group,
    Pipe,
    Redirect,
    Script,
    Statement,
    Unreadable,
    Word,
)
from stormclaw.security.shell.shell_words import UNSEEN, Arg
from stormclaw.security.shell.state import either, entered, learn, succeeds
from stormclaw.security.shell.wrappers import Peeled, peel
from stormclaw.security.shell.wrapping import filled, hides, judge_wrapper, poisoned, raised
from stormclaw.security.shell.yields import printed


@dataclass
class Walk:
    """One line being judged.

    Attributes:
        policy: What it is judged by.
        clock: Seconds on a clock that only goes forward.
        findings: What was found so far, in order.
        scripts: How many texts were parsed.
        deadline: When it has to be done; the first start of the parser is not counted.
        first: The whole line, where texts inside it are walked.
    """

    policy: Policy
    clock: Callable[[], float] = time.monotonic
    findings: list[Finding] = field(default_factory=list)
    scripts: int = 0
    deadline: float | None = None
    first: str = ""

    def text(self, line: str, scope: Scope, feed: Feed = NO_FEED) -> None:
        """Judge shell text: the line itself, or what `sh -c` and `eval` are given."""
        line = fold_continuations(line)
        self.first = self.first or line
        self.scripts += 1
        if self.scripts > limits.MAX_SCRIPTS:
            self._high(line, "shell text nested too often to judge", "shell text")
            return
        if self._late():
            return
        if too_large(line):
            self._high(line, "too many pieces to judge in time", "shell text")
            return
        try:
            script = read(line)
            self.deadline = self.deadline or self.clock() + limits.BUDGET_S
            doubt = disagreement(line, script)
        except Unreadable as error:
            self._high(line, str(error), "shell parser")
            for piece in pieces(line):
                self.text(piece, scope.copy(), feed)
            return
        if doubt:
            self._high(line, doubt, "shell parser")
        self._arithmetic(line)
        scope.prepare(script)
        self.script(script, scope, feed)

    def _arithmetic(self, line: str) -> None:
        """bash runs what stands in the value of a name it computes with."""
        reason, elsewhere = computes(line)
        if not reason and elsewhere and limits.HIDDEN_SUBSCRIPT.search(self.first):
            reason = "computes with names that the text around it sets"
        if reason:
            self._high(line, reason, "evaluated name")

    def script(self, script: Script, scope: Scope, feed: Feed = NO_FEED) -> None:
        """Judge statements that run one after the other."""
        for statement in script:
            if len(self.findings) >= limits.MAX_COMMANDS:
                self._high("…", f"more than {limits.MAX_COMMANDS} commands", "shell text")
                return
            if self._late():
                return
            self.statement(statement, scope, feed)

    def _late(self) -> bool:
        """Whether its time is up; said once, and nothing more is looked at."""
        if self.deadline is None or self.clock() <= self.deadline:
            return False
        if all(finding.rule != "time budget" for finding in self.findings):
            self._high("…", "takes too long to judge", "time budget")
        return True

    def statement(self, statement: Statement, scope: Scope, feed: Feed = NO_FEED) -> None:
        """Judge one statement."""
        match statement:
            case Call():
                self._call(statement, scope, feed)
            case Pipe(stages):
                self._pipe(stages, scope, feed)
            case Chain():
                stopped = self._chain(statement, scope, feed)
                scope.cwds = either(scope.cwds, stopped)
            case Function(name, body, raw):
                self._function(name, body, raw, scope)
            case Group():
                self._group(statement, scope, feed)

    def _chain(self, chain: Chain, scope: Scope, feed: Feed) -> frozenset[Path] | None:
        """Judge `a && b`; the scope is left as after success, returned is where it may stop."""
        before = stopped = scope.cwds
        if isinstance(chain.left, Chain):
            stopped = self._chain(chain.left, scope, feed)
        else:
            self.statement(chain.left, scope, feed)
            stopped = scope.cwds
        if chain.op == "&&":
            scope.cwds = entered(chain.left, before, scope.cwds)
        reached = scope.cwds
        if chain.op == "||":
            scope.cwds = either(either(before, stopped), reached)
        self.statement(chain.right, scope, feed)
        if chain.op == "||":
            scope.cwds = either(scope.cwds, reached)
            return either(stopped, scope.cwds)
        sure = succeeds(chain.left) and stopped == reached
        return scope.cwds if sure else either(stopped, reached)

    def _pipe(self, stages: tuple[Statement, ...], scope: Scope, feed: Feed) -> None:
        arriving = feed
        for stage in stages:
            self.statement(stage, scope.copy(), arriving)
            names = arriving.names | frozenset(program_names((stage,)))
            arriving = Feed(names, printed(stage, scope.arguments, arriving.text), present=True)

    def _function(self, name: str, body: Script, raw: str, scope: Scope) -> None:
        """Its body is judged where it stands; it may be called from any folder."""
        inside = set(program_names(body))
        if name in inside:
            rule = f"destructive pattern: {FORK_BOMB.name}"
            self.findings.append(Finding(raw, FORK_BOMB.risk, FORK_BOMB.why, rule))
        scope.functions.add(name)
        inner = scope.copy()
        inner.cwds = scope.cwds if len(scope.cwds or ()) == 1 and "cd" not in inside else None
        self.script(body, inner)

    def _group(self, group: Group, scope: Scope, feed: Feed) -> None:
        args = scope.arguments(group.words)
        if group.variable:
            scope.learn_loop(group.variable, args)
        self.findings += judge_group(group, args, scope)
        self._words(group.words, scope)
        self._redirects(group.redirects, scope)
        arriving = redirected(group.redirects, scope, feed)
        own = scope.copy() if group.kind in ("subshell", "background") else scope
        before = own.cwds
        self.script(group.body, own, arriving)
        if group.kind in ("branch", "loop"):
            own.cwds = either(before, own.cwds)

    def _call(self, call: Call, scope: Scope, feed: Feed) -> None:
        before = scope.copy()
        for assign in call.assigns:
            self.findings += judge_assign(assign, call, scope)
        words = tuple(scope.arguments(call.words[: limits.MAX_WORDS]))
        if len(call.words) > limits.MAX_WORDS:
            self._high(call.raw, f"more than {limits.MAX_WORDS} words", "shell text")
        arriving = redirected(call.redirects, scope, feed)
        if words:
            inner = [script for word in call.words for script in word.inner]
            embedded = frozenset(name for script in inner for name in program_names(script))
            embedded |= frozenset(names_in(r.target for r in call.redirects if r.op == "<<<"))
            command = Command(words, call.raw, scope, self.policy, arriving.names, embedded,
                              arriving.text, arriving.present)  # fmt: skip
            if any(word.evaluates for word in call.words):
                self._high(call.raw, "an expansion that runs code", "evaluated name")
            self._command(command)
            learn(command, scope)
        self._redirects(call.redirects, scope)
        self.findings += empties(call, scope)
        self._words((*call.words, *(a.value for a in call.assigns if a.value)), before)
        for script in (script for assign in call.assigns for script in assign.inner):
            self.script(script, before.copy())

    def _command(
        self,
        command: Command,
        floor: Finding | None = None,
        depth: int = 0,
        network: tuple[str, ...] = (),
    ) -> None:
        """Take wrappers off until the program is reached, judging each on the way."""
        network += network_words(command.args)
        peeled = peel(command.args) if command.args[0].literal and depth < 16 else None
        if command.args[0].text == "trap":
            for position in trapped_code(command):
                self._code(command.args[position], command, from_stdin=False)
        if peeled is None or command.args[0].text in command.scope.functions:
            finding = replace(judge_command(command), network=network)
            command.scope.note_written(saved(command))
            self.findings.append(raised(finding, floor) if floor else finding)
            return
        floor = self._wrapper(command, peeled, floor, network)
        for code in peeled.code:
            self._code(code, command, from_stdin=False)
        for word in peeled.operands:
            self.findings += judge_arg(command, word, "read")
        if peeled.stdin:
            self._standard_input(command)
        self.findings += hides(command)
        for inner in peeled.commands:
            fed = filled(inner, command)
            self._command(replace(command, args=fed), floor, depth + 1, network)

    def _wrapper(
        self, command: Command, peeled: Peeled, floor: Finding | None, network: tuple[str, ...]
    ) -> Finding:
        """What the wrapper itself is worth; a line of its own where nothing else stands for it."""
        own = judge_wrapper(command, peeled)
        floor = own if floor is None else worst((own, floor))
        alone = not peeled.commands or severity(own.risk) > severity("medium")
        if alone or command.name == "find":
            listed = judge_command(command) if command.name == "find" else own
            self.findings.append(replace(raised(listed, floor), network=network))
        self.findings += poisoned(command, peeled)
        return floor

    def _standard_input(self, command: Command) -> None:
        if command.stdin is not None:
            self._code(Arg(command.stdin, command.text), command, from_stdin=True)
        else:
            self._high(command.text, f"{command.name} runs whatever arrives on its input",
                       "inline code")  # fmt: skip

    def _code(self, code: Arg, command: Command, *, from_stdin: bool) -> None:
        for text in (code.text, *code.others):
            if "\0" in text or UNSEEN in text:
                self._high(command.text, "shell text that is only known when it runs",
                           "dynamic command")  # fmt: skip
                known = text.replace("\0", " ").replace(UNSEEN, " ")
                if not re.search(r"[\"'`$(){}\\]", known):
                    self.text(known, command.scope.copy())
                continue
            scope = command.scope if command.name == "eval" else command.scope.copy()
            feed = NO_FEED if from_stdin else Feed(command.upstream, None, command.fed)
            self.text(text, scope, feed)

    def _redirects(self, redirects: tuple[Redirect, ...], scope: Scope) -> None:
        """Judge redirects and the commands in their words."""
        for redirect in redirects:
            if redirect.op not in ("<<", "<<-", "<<<"):
                self._redirect(redirect, scope.arguments((redirect.target,)), scope)
            self._words((redirect.target,), scope)
            self._words((redirect.body,) if redirect.body else (), scope)

    def _redirect(self, redirect: Redirect, args: list[Arg], scope: Scope) -> None:
        for target in args:
            finding = judge_redirect(redirect.op, target, redirect.raw, scope)
            if finding:
                self.findings.append(finding)
            if ">" in redirect.op and not target.dynamic and target.text not in HARMLESS_DEVICES:
                scope.note_written((target.text,))

    def _words(self, words: Iterable[Word], scope: Scope) -> None:
        """Judge the commands in the substitutions of words."""
        for word in words:
            for script in word.inner:
                self.script(script, scope.copy())

    def _high(self, text: str, reason: str, rule: str) -> None:
        self.findings.append(Finding(text if len(text) <= 200 else f"{text[:200]}…", "high",
                                     reason, rule))  # fmt: skip
