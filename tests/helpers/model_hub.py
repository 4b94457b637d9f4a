"""A Hugging Face hub on loopback: its two endpoints, and the ways in which it can fail."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

REVISION = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class ModelHub:
    """What it has, how it behaves, what it was asked.

    Attributes:
        base: Its address.
        files: Repository -> name -> content.
        licence: What it says of every repository, "" for nothing.
        token: What it wants to see for anything at all, "" for nothing.
        break_after: Bytes of a file after which the connection breaks, once; 0 never.
        sizes: Sizes it claims, by name of the file.
        sums: Checksums it claims, by name of the file; "" for none.
        ranges: Whether it answers a Range with a part.
        status: What it answers everything with, 0 for as it should be.
        elsewhere: Address of the hub that gives out the files, "" for itself.
        asked: (path, Range, Authorization) of each request.
    """

    base: str = ""
    files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    licence: str = "apache-2.0"
    token: str = ""
    break_after: int = 0
    sizes: dict[str, int] = field(default_factory=dict)
    sums: dict[str, str] = field(default_factory=dict)
    ranges: bool = True
    status: int = 0
    elsewhere: str = ""
    asked: list[tuple[str, str, str]] = field(default_factory=list)

    def description(self, repo: str) -> Mapping[str, object]:
        """What `api/models/REPO?blobs=true` says."""
        siblings = [
            {
                "rfilename": name,
                "size": self.sizes.get(name, len(content)),
                "lfs": {
                    "sha256": self.sums.get(name, hashlib.sha256(content).hexdigest()),
                    "size": self.sizes.get(name, len(content)),
                    "pointerSize": 135,
                },
            }
            for name, content in self.files[repo].items()
        ]
        card = {"license": self.licence} if self.licence else {}
        return {"id": repo, "sha": REVISION, "cardData": card, "siblings": siblings}


@contextmanager
def model_hub() -> Iterator[ModelHub]:
    """A running hub; it is stopped on the way out."""
    hub = ModelHub()

    class Handler(_Handler):
        the_hub = hub

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    hub.base = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    the_hub: ModelHub

    def do_GET(self) -> None:
        hub = self.the_hub
        path = urlsplit(self.path).path
        given = self.headers.get("Authorization", "")
        hub.asked.append((path, self.headers.get("Range", ""), given))
        if hub.status:
            self._say(hub.status, b"{}")
        elif path.startswith("/elsewhere/"):
            self._give(path.removeprefix("/elsewhere/"))
        elif hub.token and given != f"Bearer {hub.token}":
            self._say(401, b'{"error": "Access to this model is restricted"}')
        elif path.startswith("/api/models/") and path[12:] in hub.files:
            self._say(200, json.dumps(hub.description(path[12:])).encode())
        elif f"/resolve/{REVISION}/" in path:
            # As the real one: the file itself lies elsewhere.
            self.send_response(302)
            self.send_header("Location", f"{hub.elsewhere}/elsewhere{path}")
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self._say(404, b'{"error": "Repository not found"}')

    def _give(self, path: str) -> None:
        hub = self.the_hub
        repo, _, name = path.partition(f"/resolve/{REVISION}/")
        content = hub.files.get(repo, {}).get(name)
        if content is None:
            self._say(404, b"no such file")
            return
        asked = self.headers.get("Range", "")
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and hub.ranges else 0
        self.send_response(206 if start else 200)
        if start:
            span = f"bytes {start}-{len(content) - 1}/{len(content)}"
            self.send_header("Content-Range", span)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        end = len(content)
        if hub.break_after:
            end, hub.break_after = start + hub.break_after, 0
            self.close_connection = True
        self.wfile.write(content[start:end])

    def _say(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Silence."""
