"""Which tools an agent has: five layers, each of which only takes away, and says so."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stormclaw.config.settings import (
    AgentsSettings,
    ChannelSettings,
    ChannelsSettings,
    ModelSettings,
    ProvidersSettings,
    SecuritySettings,
    Settings,
)
from stormclaw.security.tool_policy import (
    Layer,
    child_layers_of,
    layers_of,
    left,
    refusal,
    sift,
    unknown,
)

TOOLS = ("edit_file", "glob", "grep", "http", "mcp__git__log", "read_file", "shell_exec")
NAMES = {**{name: name for name in TOOLS}, "Bash": "shell_exec", "shell": "shell_exec"}


def resolve(name: str) -> str:
    return NAMES.get(name.strip(), "")


SETTINGS = Settings(
    security=SecuritySettings(tools_deny=("http",)),
    providers=ProvidersSettings(
        {"small.one": ModelSettings(kind="mock", tools_allow=("read_file", "grep", "Bash"))}
    ),
    channels=ChannelsSettings(cli=ChannelSettings(tools_allow=("read_file", "Bash", "glob"))),
    agents=AgentsSettings(
        tools_deny=("grep",),
        child_tools_allow=("read_file", "shell", "http"),
        child_tools_deny=("Bash",),
    ),
)
ORIGINS = {
    "security.tools_deny": "config.yaml:2",
    'providers.models."small.one".tools_allow': "config.yaml:5",
    "channels.cli.tools_allow": "config.yaml:8",
    "agents.tools_deny": "config.yaml:11",
    "agents.child_tools_allow": "config.yaml:12",
    "agents.child_tools_deny": "config.yaml:13",
    "agents.tools_allow": "defaults",
}


def test_without_any_list_everything_is_there() -> None:
    assert layers_of(Settings(), {}, resolve, provider="x", channel="cli") == ()
    assert child_layers_of(Settings(), {}, resolve) == ()
    assert left(TOOLS, ()) == TOOLS
    assert set(sift(TOOLS, ()).values()) == {""}


def test_each_layer_says_what_it_took_away() -> None:
    layers = layers_of(SETTINGS, ORIGINS, resolve, provider="small.one", channel="cli")
    assert [layer.key for layer in layers] == [
        "security.tools_deny",
        'providers.models."small.one".tools_allow',
        "channels.cli.tools_allow",
        "agents.tools_deny",
    ]
    assert dict(sift(TOOLS, layers)) == {
        "edit_file": 'providers.models."small.one".tools_allow (config.yaml:5)',
        "glob": 'providers.models."small.one".tools_allow (config.yaml:5)',
        "grep": "channels.cli.tools_allow (config.yaml:8)",
        "http": "security.tools_deny (config.yaml:2)",
        "mcp__git__log": 'providers.models."small.one".tools_allow (config.yaml:5)',
        "read_file": "",
        "shell_exec": "",
    }
    assert left(TOOLS, layers) == ("read_file", "shell_exec")


def test_a_sub_agent_loses_more_and_gains_nothing() -> None:
    mine = layers_of(SETTINGS, ORIGINS, resolve, provider="small.one")
    own = left(TOOLS, mine)
    assert own == ("read_file", "shell_exec")
    child = child_layers_of(SETTINGS, ORIGINS, resolve)
    assert dict(sift(own, child)) == {
        "read_file": "",
        "shell_exec": "agents.child_tools_deny (config.yaml:13)",
    }
    asked = child_layers_of(SETTINGS, ORIGINS, resolve, wanted=("Bash", "http", "glob"))
    assert left(own, asked) == ()
    assert sift(own, asked)["read_file"] == "the spawn_agent call"


def test_another_provider_and_front_end_have_lists_of_their_own() -> None:
    for provider in ("", "other", "small"):
        keys = [layer.key for layer in layers_of(SETTINGS, ORIGINS, resolve, provider=provider)]
        assert keys == ["security.tools_deny", "agents.tools_deny"]
    tui = layers_of(SETTINGS, ORIGINS, resolve, channel="tui")
    assert len(tui) == 2
    assert len(layers_of(SETTINGS, ORIGINS, resolve, channel="nowhere")) == 2


def test_a_deny_list_of_a_provider_counts_too() -> None:
    models = {"m": ModelSettings(kind="mock", tools_deny=("shell",))}
    layers = layers_of(
        Settings(providers=ProvidersSettings(models)), ORIGINS, resolve, provider="m"
    )
    assert sift(("shell_exec",), layers) == {"shell_exec": "providers.models.m.tools_deny"}


def test_an_empty_list_of_what_stays_leaves_nothing_and_of_what_goes_everything() -> None:
    none = layers_of(Settings(security=SecuritySettings(tools_allow=())), {}, resolve)
    assert left(TOOLS, none) == ()
    assert left(TOOLS, (Layer("x", (), keeps=False),)) == TOOLS
    child = Settings(agents=AgentsSettings(child_tools_allow=()))
    assert left(TOOLS, child_layers_of(child, {}, resolve)) == ()
    agents = Settings(agents=AgentsSettings(tools_allow=("Bash",)))
    assert left(TOOLS, layers_of(agents, {}, resolve)) == ("shell_exec",)
    assert left(TOOLS, child_layers_of(agents, {}, resolve)) == TOOLS


def test_names_nobody_has_are_told_and_change_nothing_for_the_better() -> None:
    settings = Settings(
        security=SecuritySettings(tools_allow=("Bsh",), tools_deny=("mcp__x*", "htp", "gl?b"))
    )
    origins = {"security.tools_allow": "defaults", "security.tools_deny": "config.yaml:9"}
    layers = layers_of(settings, origins, resolve)
    assert left(TOOLS, layers) == ()
    assert unknown(layers, TOOLS) == (
        "security.tools_allow: no tool is called 'Bsh'",
        "security.tools_deny (config.yaml:9): no tool is called 'htp'",
        "security.tools_deny (config.yaml:9): no tool is called 'mcp__x*'",
    )
    assert unknown(child_layers_of(SETTINGS, ORIGINS, resolve, wanted=("nope",)), TOOLS) == (
        "the spawn_agent call: no tool is called 'nope'",
    )
    assert unknown(layers_of(SETTINGS, ORIGINS, resolve), TOOLS) == ()


@pytest.mark.parametrize(
    ("pattern", "gone"),
    [
        ("mcp__*", ("mcp__git__log",)),
        (" mcp__* ", ("mcp__git__log",)),
        ("*", TOOLS),
        ("gre?", ("grep",)),
        ("GRE?", ()),
        ("*_file", ("edit_file", "read_file")),
    ],
)
def test_patterns(pattern: str, gone: Sequence[str]) -> None:
    denied = Settings(security=SecuritySettings(tools_deny=(pattern,)))
    kept = left(TOOLS, layers_of(denied, {}, resolve))
    assert kept == tuple(name for name in TOOLS if name not in gone)
    allowed = Settings(security=SecuritySettings(tools_allow=(pattern,)))
    assert left(TOOLS, layers_of(allowed, {}, resolve)) == tuple(
        name for name in TOOLS if name in gone
    )


@given(
    st.lists(
        st.builds(
            Layer,
            st.just("k"),
            st.lists(st.sampled_from(TOOLS), max_size=4).map(tuple),
            st.booleans(),
        ),
        max_size=4,
    )
)
def test_one_more_layer_never_brings_a_tool_back_and_order_does_not_matter(
    layers: list[Layer],
) -> None:
    for size in range(len(layers)):
        wider, narrower = left(TOOLS, layers[:size]), left(TOOLS, layers[: size + 1])
        assert set(narrower) <= set(wider)
        assert left(wider, layers[size : size + 1]) == narrower
    assert len({left(TOOLS, order) for order in permutations(layers)}) == 1


def test_what_the_model_is_told() -> None:
    told = refusal("shell_exec", "agents.child_tools_deny (config.yaml:12)")
    assert (
        told
        == "you have no shell_exec here: taken away by agents.child_tools_deny (config.yaml:12)"
    )


def test_the_agents_own_list_says_where_it_stands() -> None:
    settings = Settings(agents=AgentsSettings(tools_allow=("glob",), child_tools_allow=("glob",)))
    origins = {"agents.tools_allow": "c:1", "agents.child_tools_allow": "c:2"}
    (layer,) = layers_of(settings, origins, resolve)
    assert layer == Layer("agents.tools_allow", ("glob",), keeps=True, origin="c:1")
    (child,) = child_layers_of(settings, {}, resolve)
    assert child == Layer("agents.child_tools_allow", ("glob",), keeps=True)
    assert child_layers_of(settings, origins, resolve)[0].origin == "c:2"
    both = layers_of(
        Settings(security=SecuritySettings(tools_allow=("shell", "Bash", "x"))), {}, resolve
    )
    assert both == (Layer("security.tools_allow", ("shell_exec",), True, "", ("x",)),)
