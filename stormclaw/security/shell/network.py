"""curl and wget: which host they reach, what they send and where they write."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from stormclaw.security.finding import Finding
from stormclaw.security.hosts import host_of, is_local
from stormclaw.security.shell.command import Command
from stormclaw.security.shell.operands import judge_arg, judge_operands
from stormclaw.security.shell.programs import Line, Program, entry, given, take_apart
from stormclaw.security.shell.shell_words import Arg

_CURL = entry(
    "medium", "text",
    texts="-H --header -A --user-agent -X --request -m --max-time -w --write-out -e --referer "
          "--retry --retry-delay --connect-timeout -r --range -u --user --url -d --data "
          "--data-raw --data-urlencode --data-binary --json -F --form --form-string -b --cookie "
          "--max-redirs --limit-rate -z --time-cond --ciphers --proto --resolve --oauth2-bearer "
          "-Y -y --url-query",
    values="--cacert -E --cert --key --capath -n --netrc-file",
    writes="-o --output -c --cookie-jar -D --dump-header --trace --trace-ascii --stderr "
           "--output-dir --libcurl --etag-save",
    high="-K --config -x --proxy --preproxy --socks5 --socks4 --unix-socket --abstract-unix-socket "
         "-T --upload-file -n --netrc --netrc-file --interface --dns-servers --connect-to "
         "--resolve -Q --quote",
)  # fmt: skip
_WGET = entry(
    "medium", "text",
    texts="-U --user-agent --header -t --tries -T --timeout -w --wait --post-data --body-data "
          "--method -l --level -A -R -D --domains --limit-rate -Q --quota --user --password",
    values="-i --input-file --ca-certificate --load-cookies --post-file --body-file",
    writes="-O --output-document -P --directory-prefix -o --output-file -a --append-output "
           "--save-cookies",
    high="-e --execute --use-askpass --post-file --body-file --config --input-file -i "
         "--rejected-log --warc-file",
)  # fmt: skip
CLIENTS: Mapping[str, Program] = {"curl": _CURL, "wget": _WGET}

_LOOPBACK = re.compile(r"localhost|[\w-]+\.localhost|127(\.\d{1,3}){3}|::1|0\.0\.0\.0")
"""Where development servers answer."""

ADMIN_PORTS = frozenset({"2375", "2376", "2377", "4243", "6443", "8500", "9222", "9229", "10250",
                         "10255"})  # fmt: skip
"""Where container engines, clusters and debuggers take commands from whoever asks."""

_PORT = re.compile(r"://[^/?#]*:(\d+)(?:[/?#]|$)")
_CHANGES = frozenset({"DELETE", "PUT", "PATCH", "PURGE", "MKCOL", "MOVE"})

_SENDS = ("-d", "--data", "--data-raw", "--data-urlencode", "--data-binary", "--json", "-F",
          "--form", "--form-string", "--post-data", "--body-data", "--url-query")  # fmt: skip


def judge_network(command: Command) -> Iterator[Finding]:
    """Findings for curl and wget."""
    program = CLIENTS[command.name]
    line = take_apart(command.args[1:], program)
    name = command.name
    yield command.found("medium", "talks to the network", f"shipped list: {name}", liftable=True)
    yield from judge_operands(command, line, program)
    for option in line.options:
        if given(option.name, program.high):
            yield command.found("high", f"{name} {option.name} reaches further than a download",
                                f"{name} {option.name}")  # fmt: skip
        value = option.value
        if value is not None and given(option.name, ("-w", "--write-out")):
            yield from _written_out(command, value)
        if value is None or not given(option.name, _SENDS):
            continue
        if "@" in value.text or value.dynamic or "<" in value.text:
            yield command.found("high", "sends files or values to another host", "upload")
            for part in re.split(r"[@<]", value.text)[1:]:
                yield from judge_arg(command, Arg(part.split(";")[0], value.raw), "read")
    if any(arg.dynamic and re.search(r"\$\(|`", arg.raw) for arg in command.args[1:]):
        yield command.found("high", "sends what another command prints", "upload")
    urls = [*line.operands, *([url] if (url := line.value("--url")) else [])]
    if not all(map(_is_near, urls)):
        yield from _away(command, line)
    for url in urls:
        yield from _address(command, url)


def _written_out(command: Command, value: Arg) -> Iterator[Finding]:
    """`-w '%output{FILE}...'` writes a file; `-w @FILE` reads one."""
    for target in re.findall(r"%output\{(?:>>)?([^}]*)", value.text):
        yield command.found("high", "writes its report to a file", "curl -w")
        yield from judge_arg(command, Arg(target, value.raw), "write")
    if value.text.startswith("@"):
        yield from judge_arg(command, Arg(value.text[1:], value.raw), "read")


def saved(command: Command) -> tuple[str, ...]:
    """Names of the files that a command saves what it fetches, or is fed, to."""
    named = tuple(text for text in command.texts[1:] if not text.startswith("-"))
    if command.name in ("tee", "sponge", "touch"):
        return named
    if command.name in ("cp", "mv", "ln", "install", "rsync", "dd", "split", "base64"):
        return named[-1:]
    program = CLIENTS.get(command.name)
    if program is None:
        return ()
    line = take_apart(command.args[1:], program)
    kept = [o.value.text for o in line.options if given(o.name, program.writes) and o.value]
    remote = command.name == "wget" or line.has("-O", "--remote-name", "--remote-name-all")
    last = [arg.text.split("?")[0].rstrip("/").rsplit("/", 1)[-1] for arg in line.operands]
    return (*kept, *(last if remote else ()))


def _away(command: Command, line: Line) -> Iterator[Finding]:
    """What may not be sent to another machine, though it may to a program on this one."""
    method = line.value("-X", "--request", "--method")
    if method is not None and method.text.upper() in _CHANGES:
        yield command.found("high", f"{method.text} changes something on a server", "method",
                            liftable=True)  # fmt: skip
    if any(arg.dynamic for arg in command.args[1:]):
        yield command.found("high", "sends a value that is only known when it runs", "upload")


def _is_near(url: Arg) -> bool:
    full = url.text if "://" in url.text else f"http://{url.text}"
    host, _ = host_of(full.replace("\0", "0"))
    return is_loopback(host)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine itself, by a name that cannot mean another."""
    return bool(_LOOPBACK.fullmatch(host.strip("[]").lower()))


def _address(command: Command, url: Arg) -> Iterator[Finding]:
    if url.text.partition("\0")[0].lower().startswith("file:"):
        path = re.sub(r"^file:(//[^/]*)?", "", url.text, flags=re.I)
        yield from judge_arg(command, Arg(path, url.raw, url.glob), "read")
        return
    if url.dynamic:
        host_known = re.match(r"https?://[^/\0]+/", url.text)
        if not host_known:
            yield command.found("medium", "the host is only known when it runs", "unknown host",
                                liftable=True)  # fmt: skip
            return
    full = url.text if "://" in url.text else f"http://{url.text}"
    host, problem = host_of(full.replace("\0", ""))
    if problem:
        yield command.found("high", problem, "bad address")
    elif is_local(host):
        port = _PORT.search(full)
        if is_loopback(host) and (port is None or port[1] not in ADMIN_PORTS):
            yield command.found("medium", "talks to a program on this machine", "loopback",
                                liftable=True)  # fmt: skip
            return
        yield command.found("high", f"{host} is this machine or its network", "private addresses")
