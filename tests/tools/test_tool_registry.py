"""Which tools there are, by which names."""

from __future__ import annotations

import pytest

from stormclaw.protocol.tool import AnyTool
from stormclaw.tools.registry import Registry, register

GOLDEN = """\
apply_patch   patch  ('ApplyPatch', 'apply_diff', 'patch')    apply_patch{patch: string}
ask_user      ask    ()                                       ask_user{question: string, options?: array}
edit_file     edit   ('Edit', 'file_edit', 'str_replace')     edit_file{path: string, old_string: string, new_string: string, replace_all?: boolean}
glob          glob   ('Glob',)                                glob{pattern: string, path?: string}
grep          grep   ('Grep', 'file_search')                  grep{pattern: string, path?: string, glob?: string, ignore_case?: boolean, context?: integer, max_results?: integer, files_only?: boolean}
http          fetch  ('http_get', 'WebFetch', 'fetch')        http{url: string, method?: string, headers?: object, body?: string}
list_files    list   ('file_list', 'LS')                      list_files{path?: string, depth?: integer}
memory_search recall ()                                       memory_search{query: string, limit?: integer}
memory_write  note   ()                                       memory_write{note: string, section?: string, replace?: string}
pdf_extract   pdf    ()                                       pdf_extract{path: string, pages?: string}
read_file     read   ('Read', 'file_read')                    read_file{path: string, offset?: integer, limit?: integer}
recall        recall ('memory.read', 'working_memory_read')   recall{what?: string, offset?: integer, limit?: integer}
remember      keep   ('memory.write', 'memory_write_session', 'working_memory_write') remember{key: string, value: string}
shell_exec    shell  ('shell', 'Bash')                        shell_exec{command: string, timeout?: integer}
spawn_agent   agent  ('Task',)                                spawn_agent{task: string, name?: string, model?: string, tools?: array, executor?: string}
time          time   ()                                       time{}
todo          plan   ('todo_write', 'TodoWrite', 'update_plan') todo{steps: array}
web_search    search ('WebSearch',)                           web_search{query: string, count?: integer}
write_file    write  ('Write', 'file_write')                  write_file{path: string, content: string}"""  # noqa: E501

SAMPLES = {
    "apply_patch": '{"patch":"*** Begin Patch\\n*** Delete File: p\\n*** End Patch"}',
    "ask_user": '{"question":"q"}',
    "edit_file": '{"path":"p","old_string":"a","new_string":"b"}',
    "glob": '{"pattern":"*"}',
    "grep": '{"pattern":"x"}',
    "http": '{"url":"https://example.com"}',
    "memory_search": '{"query":"q"}',
    "memory_write": '{"note":"n"}',
    "pdf_extract": '{"path":"p"}',
    "read_file": '{"path":"p"}',
    "remember": '{"key":"k","value":"v"}',
    "shell_exec": '{"command":"c"}',
    "spawn_agent": '{"task":"t"}',
    "todo": '{"steps":[]}',
    "web_search": '{"query":"q"}',
    "write_file": '{"path":"p","content":"c"}',
}


def test_what_was_discovered(registry: Registry) -> None:
    from stormclaw.tools.schema import parse, signature

    rows = []
    for tool in registry:
        headline = tool.headline(parse(tool, SAMPLES.get(tool.name, "{}")))
        assert headline.object, tool.name
        rows.append(f"{tool.name:<13} {headline.verb:<6} {tool.aliases!s:<40} {signature(tool)}")
    assert "\n".join(rows) == GOLDEN


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("read_file", "read_file"),
        ("Read", "read_file"),
        ("READ", "read_file"),
        ("file_read", "read_file"),
        ("file_write", "write_file"),
        ("file_list", "list_files"),
        ("shell", "shell_exec"),
        ("Bash", "shell_exec"),
        (" bash ", "shell_exec"),
        ("Edit", "edit_file"),
        ("ApplyPatch", "apply_patch"),
        ("apply_diff", "apply_patch"),
        ("Glob", "glob"),
        ("Grep", "grep"),
        ("LS", "list_files"),
        ("Task", "spawn_agent"),
        ("http_get", "http"),
        ("WebFetch", "http"),
        ("WebSearch", "web_search"),
        ("TodoWrite", "todo"),
        ("memory_write", "memory_write"),
        ("memory.write", "remember"),
        ("memory.read", "recall"),
    ],
)
def test_names_and_aliases(registry: Registry, name: str, canonical: str) -> None:
    tool = registry.resolve(name)
    assert tool is not None
    assert tool.name == canonical


def test_unknown_names(registry: Registry) -> None:
    assert registry.resolve("frobnicate") is None
    assert registry.resolve("") is None
    assert registry.nearest("read_fil") == "read_file"
    assert registry.nearest("bashh") == "shell_exec"
    assert registry.nearest("qqqqq") is None


def test_two_tools_with_one_name_are_refused(registry: Registry) -> None:
    from dataclasses import replace

    shell: AnyTool = registry.tools["shell_exec"]
    with pytest.raises(ValueError, match="both claim"):
        register([shell, replace(shell, name="other")])
    with pytest.raises(ValueError, match="same name"):
        register([shell, shell])
    assert list(register([])) == []


def test_only_what_waits_keeps_its_own_time(registry: Registry) -> None:
    assert {tool.name for tool in registry if tool.own_time} == {
        "ask_user",
        "http",
        "shell_exec",
        "spawn_agent",
        "web_search",
    }
