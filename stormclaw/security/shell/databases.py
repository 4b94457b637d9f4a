"""Database clients: which statements only look, and which lose what is stored."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from stormclaw.security.finding import Finding
from stormclaw.security.shell.command import Command
from stormclaw.security.shell.operands import judge_operands
from stormclaw.security.shell.programs import Line, Program, entry, take_apart

_SQL = re.compile(
    r"\\|\b(drop|truncate|delete|alter|grant|revoke|copy|program|into\s+(out|dump)file|load_file|"
    r"load\s+data|create\s+(role|user|extension|function|language|procedure)|vacuum\s+into|attach|"
    r"update\s+[\w.\"`]+\s+set\b(?!.*\bwhere\b)|do\s+\$|lo_export|lo_import|pg_read|pg_write|pg_ls|system|source|shutdown|kill|purge|reset)\b",
    re.I | re.S,
)
"""Words of statements that lose, open files or run programs; a backslash is a command of psql."""

_LOSES = re.compile(
    r"\b(drop|truncate|delete|alter|update\s+[\w.\"`]+\s+set\b(?!.*\bwhere\b)|"
    r"pragma\s+writable_schema)\b",
    re.I | re.S,
)
_COMPARED = re.compile(r"(?<=\blike )'[^'\\]*'|(?<=[=<>,(])\s*'[^'\\]*'", re.I)
"""Text that a statement compares with: words in it are no commands."""

_LIKE = re.compile(r"(?<=\blike )'[^'\\]*'(?=\s|;|$)", re.I)
"""The same where a backslash or a function may make more of a text."""

_REDIS = re.compile(r"(flushall|flushdb|config|eval|evalsha|script|module|shutdown|debug|slaveof|"
                    r"replicaof|migrate|restore|save|bgsave|acl|function|del|unlink|rename|swapdb|"
                    r"bgrewriteaof|failover|cluster)", re.I)  # fmt: skip
_MONGO = re.compile(r"drop|delete|remove|load\s*\(|process|require|rename|shutdown|run\s*\(|"
                    r"\$where|eval|fs\b", re.I)  # fmt: skip

_PSQL_LOOKS = re.compile(r"\\(?:d\w*\+?|l\+?|x|z|conninfo|timing|encoding)(?=\s|$)[\w\s.*+\"]*")
"""Commands of psql that describe tables and change how answers look."""

CLIENTS: Mapping[str, Program] = {
    "psql": entry("medium", "text", texts="-h --host -p --port -U --username -d --dbname -c "
                  "--command -F -P --pset -R -T -v --set --variable",
                  values="-f --file", writes="-o --output -L --log-file"),
    "mysql": entry("medium", "text", texts="-h --host -P --port -u --user -D --database -e "
                   "--execute --protocol -S --socket --prompt --default-character-set",
                   values="--ssl-ca --ssl-cert --ssl-key", writes="--tee",
                   high="--defaults-file --defaults-extra-file --pager --init-command "
                        "--login-path --plugin-dir --local-infile"),
    "redis-cli": entry("medium", "text", texts="-h -p -n -a -u -r -i -d -s --user --pass",
                       high="--eval --pipe --rdb --functions-rdb --cluster -x -X"),
    "mongosh": entry("medium", "text", texts="--host --port --eval -u -p --username --password",
                     high="--shell -f --file"),
    "sqlite3": entry("medium", "last-write"),
    "pg_isready": entry("low", "text", texts="-h -p -U -d -t"),
}  # fmt: skip
ALIASES = {"mariadb": "mysql", "mongo": "mongosh", "pgcli": "psql", "mycli": "mysql"}

_STATEMENTS = {"psql": ("-c", "--command"), "mysql": ("-e", "--execute"), "mongosh": ("--eval",)}


def client(name: str) -> str:
    """The database client a program is judged as; "" for everything else."""
    known = ALIASES.get(name, name)
    return known if known in CLIENTS and known != "sqlite3" else ""


def judge_database(command: Command, kind: str) -> Iterator[Finding]:
    """Findings for a database client's command line."""
    program = CLIENTS[kind]
    line = take_apart(command.args[1:], program)
    rule = f"shipped list: {command.name}"
    yield command.found(program.risk, "talks to a database", rule, liftable=program.risk != "low")
    for option in line.options:
        if option.name in program.high:
            yield command.found("high", f"{command.name} {option.name} runs what a file says",
                                f"{command.name} {option.name}")  # fmt: skip
    yield from judge_operands(command, line, program)
    reason = _loss(kind, line)
    if any(o.value and o.value.text.lstrip().startswith("|") for o in line.options):
        reason = "hands what it finds to a program"
    if reason:
        yield command.found("high", reason, "database statement", liftable=True)
    elif command.fed and kind != "redis-cli":
        harmless = command.stdin is not None and not _SQL.search(command.stdin)
        if not harmless:
            yield command.found("high", "runs statements that arrive on its input",
                                "database statement", liftable=True)  # fmt: skip


def loses_rows(text: str) -> bool:
    """Whether SQL text drops, empties or rewrites what is stored; names in quotes are text."""
    return bool(_LOSES.search(_COMPARED.sub("''", text)))


def sql_risk(text: str) -> bool:
    """Whether SQL text does more than look, insert or update."""
    return bool(_SQL.search(text))


def _loss(kind: str, line: Line) -> str:
    texts = [arg.text for arg in line.operands]
    if kind == "redis-cli":
        loses = bool(texts) and bool(_REDIS.fullmatch(texts[0]))
        return f"{texts[0]} changes more than one key" if loses else ""
    names = _STATEMENTS.get(kind, ())
    statements = [o.value.text for o in line.options if o.name in names and o.value is not None]
    pattern = _MONGO if kind == "mongosh" else _SQL
    for statement in statements:
        if re.search(r"[\0\x01]", statement):
            return "a statement only known when it runs"
        statement = _LIKE.sub("''", statement)
        if pattern.search(_PSQL_LOOKS.sub("", statement) if kind == "psql" else statement):
            return "a statement that loses data, opens files or runs programs"
    if kind == "mongosh" and any(text.endswith((".js", ".mongodb")) for text in texts):
        return "runs a script in the database's shell"
    return ""
