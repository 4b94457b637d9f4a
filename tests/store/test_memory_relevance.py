"""Thirty questions to three hundred entries: what should come first, and how often it does.

The figure is the mean reciprocal rank: 1.0 when every best hit comes first, 0.5 when it is second.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import AssistantTurn, Body, Node, Summary, ToolOutcome, UserText
from stormclaw.store.finding import Hit
from stormclaw.store.memory import Memory
from stormclaw.store.sessions import SessionInfo

DAY = 86_400.0
NOW = 1_795_311_839.0
ENOUGH = 0.9


class Said(NamedTuple):
    """An entry that some question is after."""

    id: str
    days: float
    body: Body
    title: str = "a talk"


class Asked(NamedTuple):
    """A query and the entry that should come first."""

    query: str
    best: str


def tool(output: str, thing: str = "src/app.py", name: str = "read_file") -> ToolOutcome:
    return ToolOutcome("c", name, "done", output, Headline("read", thing, "path"))


SAID = (
    Said("port-old", 200, UserText("The server listens on port 8080.")),
    Said("port-new", 3, UserText("From now on the server listens on port 9090, not 8080.")),
    Said("port-file", 2, tool("port port port\nserver: port 8080\nserver port\n" * 20)),
    Said("budget", 20, AssistantTurn("`RetryBudget` allows three attempts a minute.")),
    Said("budget-snake", 30, AssistantTurn("I renamed retry_limit_s in settings.")),
    Said("jitter", 10, UserText("Add jitter to the backoff, at most a quarter of the wait.")),
    Said("why-yaml", 90, AssistantTurn("We decided on YAML because people comment their config.")),
    Said("toml", 95, UserText("Is TOML an option for the configuration?")),
    Said("flaky", 8, UserText("test_reconnect is flaky on the CI runner with two cores.")),
    Said("flaky-cause", 7, AssistantTurn(
        "The cause: test_reconnect waits for a fixed 50 ms; the runner needs 80.")),
    Said("tokyo", 15, UserText("東京都の潮位データを表示してください")),
    Said("kyoto", 16, UserText("京都の天気は関係ありません")),
    Said("korean", 18, UserText("조수 예보를 한국어로 보여 주세요")),
    Said("umlaut", 40, UserText("Die Prüfung der Größe schlägt fehl, wenn die Datei leer ist.")),
    Said("deploy", 5, AssistantTurn("To deploy: `make image`, then `kubectl rollout restart`.")),
    Said("deploy-log", 4, tool("kubectl rollout restart deployment\n" * 30, "kubectl", "shell")),
    Said("license", 60, UserText("Legal says: MIT, BSD and Apache only, never GPL.")),
    Said("parser", 12, AssistantTurn("HttpHeaderParser drops folded lines, as RFC 9110 says.")),
    Said("migrate", 33, AssistantTurn("Migration 0042_add_retry_budget.py adds the column.")),
    Said("arrow", 25, UserText("Use -> in the type comments, never =>.")),
    Said("csv", 44, UserText("Exports use semicolons, since Excel in Germany wants them.")),
    Said("tz", 21, AssistantTurn("Times are kept in UTC and shown in the zone of the station.")),
    Said("summary", 1, Summary("Talked of jitter, backoff, exports with semicolons.", ("a",))),
    Said("echo", 0.5, tool("jitter backoff quarter wait port 9090", "x", "memory_search")),
    Said("names", 50, UserText("Call both environments `harbour` and `reef`, not prod and test.")),
    Said("graph", 9, AssistantTurn("The tide curve is a cubic spline through hourly values.")),
    Said("key", 14, UserText("The API key is read from TIDE_API_KEY, never from a file.")),
    Said("review", 6, UserText("Anna reviews everything under src/tide/, Ben the docs.")),
    Said("limit", 13, AssistantTurn("The upload limit is 25 MB: the proxy cuts larger bodies.")),
    Said("title", 11, UserText("Let us begin."), "moving the cache to redis"),
    Said("error", 17, tool("ConnectionResetError: [Errno 104] Connection reset by peer", "x")),
    Said("error-talk", 17, AssistantTurn(
        "ConnectionResetError comes from the load balancer's idle timeout of 60 s.")),
)  # fmt: skip

ASKED = (
    Asked("server port", "port-new"),
    Asked("which port does the server listen on", "port-new"),
    Asked("port 8080 listens", "port-new"),
    Asked("RetryBudget", "budget"),
    Asked("retry_budget attempts", "budget"),
    Asked("retry budget minute", "budget"),
    Asked("retryLimitS", "budget-snake"),
    Asked("what did we decide about yaml", "why-yaml"),
    Asked("toml configuration", "toml"),
    Asked("jitter backoff", "jitter"),
    Asked("test_reconnect", "flaky-cause"),
    Asked("why is test_reconnect flaky", "flaky"),
    Asked("cause of test_reconnect", "flaky-cause"),
    Asked("東京", "tokyo"),
    Asked("潮位データ", "tokyo"),
    Asked("天気", "kyoto"),
    Asked("한국어", "korean"),
    Asked("prufung grosse datei", "umlaut"),
    Asked("how do we deploy", "deploy"),
    Asked("kubectl rollout", "deploy"),
    Asked("which license may a dependency have GPL", "license"),
    Asked("header parser", "parser"),
    Asked("0042_add_retry", "migrate"),
    Asked("=>", "arrow"),
    Asked('"in Germany"', "csv"),
    Asked("semicolons export", "csv"),
    Asked("timezone utc station", "tz"),
    Asked("harbour reef", "names"),
    Asked("redis cache", "title"),
    Asked("ConnectionReset", "error-talk"),
    Asked("tide api key", "key"),
    Asked("who reviews docs", "review"),
)

WORDS = """the of a server client test file function value config module request answer tide data
column table station level hour wait write read check error branch commit build screen line count
message user list key name type path option log time run fix change update remove add""".split()  # noqa: SIM905


def noise(count: int) -> Iterator[Said]:
    """Entries nobody asks for, in the words of everyday; always the same."""
    dice = random.Random(20261122)
    for number in range(count):
        text = " ".join(dice.choices(WORDS, k=dice.randint(8, 60)))
        body = (UserText(text), AssistantTurn(text.capitalize()), tool(text * 3))[number % 3]
        yield Said(f"noise-{number}", dice.uniform(0, 300), body)


@pytest.fixture(params=[True, False], ids=["fts5", "no fts5"])
def memory(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Memory]:
    memory = Memory(tmp_path / "memory.sqlite", full_text=request.param)
    entries = [*SAID, *noise(300 - len(SAID))]
    for number, said in enumerate(sorted(entries, key=lambda said: -said.days)):
        at = NOW - said.days * DAY
        session = SessionInfo(
            f"20261122-0{number:05}-abcd", Path("/src/here"), said.title, at, at, "small", "mock"
        )
        memory.index(session, Node(said.id, None, "root", at, said.body))
    yield memory
    memory.close()


def rank_of(best: str, hits: tuple[Hit, ...]) -> int:
    """From 1; 0 when it is not there."""
    return next((n for n, hit in enumerate(hits, 1) if hit.turn_id == best), 0)


def test_what_is_meant_comes_first(
    memory: Memory, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    ranks = {asked: rank_of(asked.best, memory.search(asked.query, 10)) for asked in ASKED}
    figure = sum(1 / rank for rank in ranks.values() if rank) / len(ranks)
    missed = {asked.query: rank for asked, rank in ranks.items() if rank != 1}
    with capsys.disabled():
        print(f"\nmean reciprocal rank {figure:.3f} over {len(ranks)} queries; not first: {missed}")
    with_words = "no fts5" not in request.node.name
    assert figure >= (ENOUGH if with_words else 0.85), missed
