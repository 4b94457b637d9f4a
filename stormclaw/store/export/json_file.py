"""A session as JSON, in the store's own records: nothing is left out, and it comes back whole.

One node a line, so that it can be written and read without holding all of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict

from stormclaw.protocol.messages import Node
from stormclaw.store.codec import node_to_line
from stormclaw.store.sessions import SessionInfo

FORMAT = "stormclaw session"
VERSION = 1


def to_json(info: SessionInfo, nodes: Iterable[Node]) -> str:
    """The session as one JSON object: `format`, `version`, `session`, `nodes`. ASCII only.

    Args:
        info: The session, as in its `session.json`.
        nodes: All or some of its nodes, in the order written; records as in a transcript.
    """
    session = json.dumps(asdict(info) | {"workspace": str(info.workspace)})
    head = f'{{"format":"{FORMAT}","version":{VERSION},\n"session":{session},\n"nodes":[\n'
    records = ",\n".join(node_to_line(node).decode("ascii").rstrip("\n") for node in nodes)
    return f"{head}{records}\n]}}\n"
