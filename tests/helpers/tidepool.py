"""The afternoon all screens are drawn with: retries in the project `tidepool`, as events."""

from __future__ import annotations

from stormclaw.protocol.asks import Permission, Question
from stormclaw.protocol.display import Checklist, Diff, DiffLine, Headline, Hunk, Patch, Shell, Step
from stormclaw.protocol.effects import Grant, Reach, Segment, Verdict
from stormclaw.protocol.events import (
    ChildEnded,
    ChildStarted,
    Committed,
    Event,
    TextDelta,
    ToolEnded,
    ToolProgress,
    ToolStarted,
    TurnStarted,
    UsageChanged,
)
from stormclaw.protocol.messages import (
    ROOT,
    AssistantTurn,
    Body,
    Node,
    ToolCall,
    ToolOutcome,
    Usage,
    UserText,
)

AT = 1_792_000_000.0
FIXER, SCOUT = "root/fixer", "root/scout"


def node(number: int, body: Body, agent: str = ROOT) -> Node:
    """A stored node."""
    return Node(f"n{number}", f"n{number - 1}" if number else None, agent, AT + number, body)


def line(sign: str, text: str, old: int | None, new: int | None) -> DiffLine:
    """A diff line."""
    return DiffLine(sign, text, old, new)  # type: ignore[arg-type]


RETRY = Diff(
    "src/tide/retry.py",
    (
        Hunk(
            (
                line("-", "        for n in range(3):", 42, None),
                line("+", "        for n in range(self.attempts):", None, 42),
                line(" ", "            reply = await self.send(request)", 43, 43),
                line("-", "            await sleep(0)", 44, None),
                line("+", "            await sleep(self.backoff(n, reply))", None, 44),
            )
        ),
    ),
    2,
    2,
)

CLIENT = Diff(
    "src/tide/retry.py",
    (
        Hunk(
            (
                line(" ", "class Client:", 38, 38),
                line("-", "    def __init__(self, base=0, cap=30.0):", 39, None),
                line("+", "    def __init__(self, base=0.5, cap=30.0, attempts=5):", None, 39),
            )
        ),
        Hunk(
            (
                line(" ", "    async def call(self, request):", 41, 41),
                line("-", "        for n in range(3):", 42, None),
                line("+", "        for n in range(self.attempts):", None, 42),
                line(" ", "            reply = await self.send(request)", 43, 43),
                line("-", "            await sleep(0)", 44, None),
                line("+", "            await sleep(self.backoff(n, reply))", None, 44),
                line("+", "        raise RetryError(request, n)", None, 45),
            ),
            1,
        ),
    ),
    4,
    3,
)

EDIT = ToolCall("c2", "edit_file", '{"path": "src/tide/retry.py", "new_string": "range(5)"}')
PLAN = ToolCall("c0", "todo", "{}")
READ = ToolCall("c1", "read_file", '{"path": "src/tide/retry.py"}')
TESTS = ToolCall("c3", "shell_exec", '{"command": "pytest -q tests/"}')
ANSWER = """`call()` had no ceiling. It now backs off and stops after five tries.

```python
delay = min(self.cap, self.base * 2 ** attempt)
await sleep(delay * uniform(0.5, 1.0))
```

| server says | before | now |
|---|---|---|
| 429, no header | forever | 5 tries, then `RetryError` |
| 429, `Retry-After: 2` | after 2 s | after 2 s, counted |

One test still assumes three tries, so I am"""


def outcome(call: ToolCall, verb: str, thing: str, summary: str, receipt: int) -> ToolOutcome:
    """A call that did its work."""
    display = RETRY if verb == "edit" else None
    headline = Headline(verb, thing, "path")
    return ToolOutcome(
        call.id, call.name, "done", "done", headline, summary, display, receipt=receipt
    )


def stored() -> tuple[Node, ...]:
    """Root's conversation so far."""
    read = outcome(READ, "read", "src/tide/retry.py", "84 lines", 211)
    edit = outcome(EDIT, "edit", "src/tide/retry.py", "+2 −2", 212)
    thought = "The loop sleeps for zero seconds, so a burst follows."
    made = (PLAN, READ, EDIT)
    return (
        node(0, UserText("Back off when a 429 has no Retry-After, and stop after five tries.")),
        node(1, AssistantTurn("", thought, made, usage=Usage(400, 12), thought_s=6.0)),
        node(2, planned()),
        node(3, read),
        node(4, edit),
    )


def planned() -> ToolOutcome:
    """What root means to do, half of it done."""
    steps = (
        Step("find every retry loop", "done"),
        Step("one backoff helper", "done"),
        Step("tests for 429 without header", "doing"),
        Step("changelog"),
    )
    return ToolOutcome(
        PLAN.id,
        PLAN.name,
        "done",
        "Plan noted",
        Headline("plan", "tests for 429 without header"),
        "2 of 4 done",
        Checklist(steps),
        receipt=210,
    )


TASK = "Write tests for a 429 without header in tests/test_retry.py. Do not touch src/."


def fixers() -> tuple[Node, ...]:
    """What fixer has done so far."""
    look, remove = ToolCall("f1", "read_file", "{}"), ToolCall("f2", "shell_exec", "{}")
    denied = ToolOutcome(
        "f2",
        "shell_exec",
        "denied",
        "denied: rm is forbidden",
        Headline("shell", "rm -rf build", "command"),
        "denied: rm is forbidden",
        risk="blocked",
        receipt=213,
    )
    words = "The new test fails for the right reason: `call()` still stops at three."
    bodies: tuple[Body, ...] = (
        UserText(TASK),
        AssistantTurn("", calls=(look, remove)),
        outcome(look, "read", "tests/test_retry.py", "112 lines", 207),
        denied,
        AssistantTurn(words),
    )
    return tuple(node(40 + number, body, FIXER) for number, body in enumerate(bodies))


def running() -> tuple[Event, ...]:
    """What happens now: a shell in root, two children, an answer half written."""
    shell = Headline("shell", "pytest -q tests/", "command")
    child = Headline("shell", "pytest -q tests/test_retry.py", "command")
    note = outcome(
        ToolCall("c8", "write_file", "{}"), "write", "tests/test_retry.py", "+24 −1", 214
    )
    grown = Diff("tests/test_retry.py", (), 24, 1)
    other = Diff("src/tide/client.py", (), 12, 6)
    bodies = (
        ToolOutcome("c8", "write_file", "done", "", note.headline, "+24 −1", grown, receipt=213),
        ToolOutcome("c9", "edit_file", "done", "", note.headline, "+12 −6", other, receipt=214),
    )
    return (
        TurnStarted(ROOT),
        ChildStarted(
            ROOT,
            FIXER,
            TASK,
            "haiku-4.5",
            ("read_file", "edit_file", "shell_exec"),
            0.10,
            15_000,
        ),
        ChildStarted(ROOT, SCOUT, "Find every retry loop.", "haiku-4.5", ("read_file", "grep")),
        UsageChanged(ROOT, Usage(60_000, 1_200, cost_usd=0.31), 62_000, 200_000, 2.00),
        UsageChanged(FIXER, Usage(12_000, 400, cost_usd=0.084), 12_400, 200_000, 0.10, 15_000),
        UsageChanged(SCOUT, Usage(2_000, 100, cost_usd=0.02, reported=False), 2_100, 200_000, 0.11),
        *(Committed(FIXER, node(20 + n, body, FIXER)) for n, body in enumerate(bodies)),
        ToolStarted(FIXER, ToolCall("c7", "shell_exec", "{}"), "shell_exec", child, "low", None),
        ChildEnded(ROOT, SCOUT, "done", Usage(2_000, 100, cost_usd=0.02, reported=False)),
        ToolStarted(
            ROOT, TESTS, "shell_exec", shell, "low", Shell("pytest -q tests/", "tidepool/", 120)
        ),
        ToolProgress(ROOT, "c3", "tests/test_retry.py ......F...          41%\n"),
        ToolProgress(ROOT, "c3", "tests/test_client.py .............      78%\n"),
        TextDelta(ROOT, ANSWER),
    )


def ended() -> Event:
    """The tests are done."""
    done = ToolOutcome(
        "c3",
        "shell_exec",
        "done",
        "41 passed",
        Headline("shell", "pytest -q tests/", "command"),
        "exit 0, 41 lines",
        receipt=215,
        seconds=12.0,
    )
    return ToolEnded(ROOT, done)


def ask_edit(id: str = "ask-1", agent: str = FIXER) -> Permission:  # noqa: A002
    """An edit that needs a yes."""
    verdict = Verdict(
        "ask",
        "medium",
        "edits a file in the workspace",
        "supervised asks at medium",
        "shipped",
        (Segment("src/tide/retry.py", "medium", "inside the workspace", "supervised"),),
        (Grant("write", "src/tide"),),
        ("writes src/tide/retry.py: inside the workspace, medium", "supervised: medium asks"),
    )
    headline = Headline("edit", "src/tide/retry.py", "path")
    return Permission(id, agent, EDIT, "edit_file", headline, CLIENT, verdict, "new_string")


COMMAND = "cd api && uv sync --frozen && pytest -q | tee ../out.log && terraform plan -out=tf.plan"


def ask_shell(id: str = "ask-2") -> Permission:  # noqa: A002
    """A command held by the allowlist: only a change of policy lets it run."""
    segments = (
        Segment("cd api", "low", "inside the workspace", "workspace"),
        Segment("uv sync --frozen", "low", "shipped list: uv sync", "shipped"),
        Segment("pytest -q", "low", "shipped list: pytest", "shipped"),
        Segment("tee ../out.log", "medium", "writes out.log in the workspace", "writes"),
        Segment("terraform plan -out=tf.plan", "high", "not on any list", "allowed_commands"),
    )
    verdict = Verdict(
        "deny",
        "high",
        "part 5 is held: terraform plan is on no list of yours",
        "allowed_commands",
        "shipped",
        segments,
        (Grant("command", "terraform plan"),),
        ("parsed into 5 parts", "terraform plan: on no list, high", "supervised: high is blocked"),
    )
    call = ToolCall("c5", "shell_exec", f'{{"command": "{COMMAND}"}}')
    shell = Shell(COMMAND, "tidepool/", 120, "landlock")
    headline = Headline("shell", COMMAND, "command")
    return Permission(id, ROOT, call, "shell_exec", headline, shell, verdict, "command")


def ask_again(id: str = "ask-4") -> Permission:  # noqa: A002
    """The walls kept a command from the network: only a person may open them."""
    command = "pytest -q tests/live"
    segments = (
        Segment(command, "medium", "shipped list: pytest", "shipped"),
        Segment("network for pytest", "medium", "talks to other hosts", "network"),
    )
    why = "the sandbox kept it from the network: Could not resolve host: api.tide.example"
    verdict = Verdict(
        "ask",
        "medium",
        why,
        "network",
        "shipped",
        segments,
        (Grant("command", "pytest"), Grant("network", "pytest")),
        ("network for pytest: medium", "supervised: medium asks"),
        Reach(network=True),
    )
    call = ToolCall("c6", "shell_exec", f'{{"command": "{command}"}}')
    shell = Shell(command, "tidepool/", 120, "bwrap", network=True)
    return Permission(id, FIXER, call, "shell_exec", Headline("shell", command, "command"), shell,
                      verdict, "command")  # fmt: skip


def ask_patch(id: str = "ask-5") -> Permission:  # noqa: A002
    """Two files that stand or fall together."""
    verdict = Verdict(
        "ask", "medium", "edits files in the workspace", "supervised asks at medium", "shipped",
        (Segment(RETRY.path, "medium", "inside the workspace", "supervised"),
         Segment(CLIENT.path, "medium", "inside the workspace", "supervised")),
        (Grant("write", "src/tide"),),
        ("supervised: medium asks",),
    )  # fmt: skip
    call = ToolCall("c7", "apply_patch", '{"patch": "..."}')
    headline = Headline("patch", f"{RETRY.path} + 1 more", "text")
    return Permission(id, ROOT, call, "apply_patch", headline, Patch((RETRY, CLIENT)), verdict)


def ask_words(id: str = "ask-3", *options: str) -> Question:  # noqa: A002
    """A question of root's."""
    return Question(id, ROOT, "Which of the two loops shall have a ceiling?", options)
