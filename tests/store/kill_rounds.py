"""Kills a writer at random points, over and over, and looks at what it left. Run as a program.

`kill_rounds.py FOLDER SEED ROUNDS`: each round forks a writer that keeps a transcript, the index
over it, intents and receipts, and tells through a pipe what it was promised. Odd rounds: it kills
itself before a random line of the store. Even rounds: it is killed from outside, right after a
random promise. Then the end of each file, as far as nobody was promised it, is cut at a random
byte: what a power cut leaves. One line of JSON at the end says what was seen.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import threading
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from stormclaw.protocol.messages import Node, UserText
from stormclaw.store import sessions, transcripts
from stormclaw.store.heads import Heads
from stormclaw.store.keys import NO_KEY, Key
from stormclaw.store.memory import Memory
from stormclaw.store.receipts import ReceiptDraft, ReceiptLog
from stormclaw.store.replay import Known

ROUNDS_A_HOME = 10
LINES = 9_000
PROMISES = 120


class Home:
    """A user's folder that lives through several rounds; what was promised in all of them."""

    def __init__(self, place: Path, key: Key) -> None:
        self.place, self.key = place, key
        self.info = sessions.create(place, Path("/src"), "m", "p", now=1.0)
        self.folder = sessions.folder(place, self.info.id)
        self.log = place / "tool_receipts.log"
        self.nodes: list[str] = []
        self.receipts: dict[int, str] = {}
        self.intents: set[str] = set()
        self.sizes: dict[str, int] = {}


async def write(home: Home, first: int, promise: int) -> None:
    """Keep records for ever; say what is promised."""

    def tell(**what: Any) -> None:
        sizes = {str(p): p.stat().st_size for p in (home.log, transcript.path) if p.exists()}
        os.write(promise, json.dumps(what | {"sizes": sizes}).encode() + b"\n")

    transcript = transcripts.Transcript(home.folder)
    memory = Memory(home.place / "memory.sqlite")
    log = ReceiptLog(home.log, key=home.key)
    for number in range(first, first + 100_000):
        text = f"heron {number} " + "x" * (number * 7919 % 20_000)
        node = Node(f"n{number}", None, "root", float(number), UserText(text))
        await transcript.append(node)
        tell(node=node.id)
        await asyncio.to_thread(memory.index, home.info, node)
        extra = {"object": text[: number * 31 % 3000]}
        intent = await log.intend(home.info.id, "shell_exec", text, "medium", extra)
        tell(intent=intent.intent_hash)
        draft = ReceiptDraft(home.info.id, "shell_exec", text, "", "allowed", "medium", extra)
        receipt = await log.append(draft, intent)
        tell(receipt=receipt.number, hash=receipt.receipt_hash)


def die_at(line: int) -> None:
    """Kill this process before the given line of the store is run, whatever thread comes to it."""
    left = [line]

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        if "/stormclaw/store/" not in frame.f_code.co_filename:
            return None
        left[0] -= 1
        if left[0] <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    threading.settrace(trace)
    sys.settrace(trace)


def run_writer(home: Home, line: int, promise: int) -> NoReturn:
    try:
        if line:
            die_at(line)
        asyncio.run(write(home, len(home.nodes) * 2, promise))
    finally:
        os._exit(9)


def kill_round(home: Home, chance: random.Random, outside: bool) -> None:
    """One writer, from its fork to its death."""
    read_end, write_end = os.pipe()
    line = 0 if outside else chance.randrange(1, LINES)
    pid = os.fork()
    if not pid:
        os.close(read_end)
        run_writer(home, line, write_end)
    os.close(write_end)
    promises = chance.randrange(0, PROMISES) if outside else None
    with os.fdopen(read_end, "rb") as told:
        for seen, said in enumerate(told):
            if not said.endswith(b"\n"):
                break
            take(home, json.loads(said))
            if seen == promises:
                os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if os.WTERMSIG(status) != signal.SIGKILL:
        raise AssertionError(f"the writer was not killed, it ended with {status}")


def take(home: Home, said: dict[str, Any]) -> None:
    if "node" in said:
        home.nodes.append(said["node"])
    if "intent" in said:
        home.intents.add(said["intent"])
    if "receipt" in said:
        home.receipts[said["receipt"]] = said["hash"]
    home.sizes |= said["sizes"]


def cut_ends(home: Home, chance: random.Random) -> int:
    """What nobody was promised may be there in part."""
    cut = 0
    for name, promised in home.sizes.items():
        size = Path(name).stat().st_size
        # The receipts' end may be promised to the index already, which is flushed after it.
        heads = Heads(home.log, home.key)
        known = heads.known()
        heads.close()
        lines = Path(name).read_bytes().count(b"\n")
        if name == str(home.log) and known and known.count >= lines:
            continue
        if size > promised:
            os.truncate(name, chance.randrange(promised, size))
            cut += 1
    return cut


async def look(home: Home, seen: Counter[str]) -> None:
    """Everything promised is there, and everything goes on."""
    log = ReceiptLog(home.log, key=home.key)
    before = log.verify()
    check(before.ok, before.reason)
    seen["torn"] += before.torn
    unfinished = {intent.intent_hash for intent in log.unfinished()}
    closed = await log.recover()
    seen["closed"] += len(closed)
    check(unfinished == {str(r.extra["intent"]) for r in closed}, "unfinished calls are closed")
    check(all(r.status == "failed" and r.extra["outcome"] == "unknown" for r in closed), "unknown")
    await log.append(ReceiptDraft(home.info.id, "time", "{}", "", "allowed", "low"))
    receipts = log.read()
    after = log.verify()
    check((after.ok, after.torn, after.count, after.notes) == (True, False, len(receipts), ()),
          f"{after}")  # fmt: skip
    by_number = {receipt.number: receipt.receipt_hash for receipt in receipts}
    check(home.receipts.items() <= by_number.items(), "every promised receipt is there")
    named = Counter(str(r.extra["intent"]) for r in receipts if "intent" in r.extra)
    check(home.intents <= named.keys(), "every promised intent has a receipt")
    check(set(named.values()) <= {1}, "and one only")
    heads = Heads(home.log, home.key)
    check(heads.known() == Known(after.count, after.head), "the index knows the newest")
    heads.close()
    log.close()
    look_at_transcript(home, seen)


def look_at_transcript(home: Home, seen: Counter[str]) -> None:
    transcript = transcripts.Transcript(home.folder)
    transcript.close()
    seen["mended"] += len(transcript.problems)
    reading = transcripts.read(home.folder)
    check(reading.problems == (), f"{reading.problems}")
    there = [node.id for node in reading.nodes]
    check(set(home.nodes) <= set(there), "every promised node is there")
    check([name for name in there if name in set(home.nodes)] == home.nodes, "in their order")
    home.nodes = there
    memory = Memory(home.place / "memory.sqlite")
    memory.index_all(home.info, reading.nodes)
    went_on = memory.show(home.info.id) if there else ()
    memory.reindex(home.place)
    rebuilt = memory.show(home.info.id) if there else ()
    check(sorted(map(repr, went_on)) == sorted(map(repr, rebuilt)), "the index rebuilt is equal")
    check([entry.turn_id for entry in rebuilt] == there, "and has every node")
    memory.close()


def check(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)


def main() -> None:
    place, seed, rounds = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    seen: Counter[str] = Counter()
    chance = random.Random(seed)
    for number in range(rounds):
        if number % ROUNDS_A_HOME == 0:
            key = Key("K", b"secret") if number % (2 * ROUNDS_A_HOME) else NO_KEY
            home = Home(place / f"home-{number}", key)
        try:
            kill_round(home, chance, outside=number % 2 == 0)
            seen["cut"] += cut_ends(home, chance)
            asyncio.run(look(home, seen))
        except BaseException:
            sys.stderr.write(f"seed {seed}, round {number}\n")
            raise
        seen["killed"] += 1
    print(json.dumps(dict(seen)))


if __name__ == "__main__":
    main()
