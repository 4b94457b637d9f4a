"""Providers made of others are checked with everything else: in one pass, with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from stormclaw.config.layers import load
from stormclaw.errors import ConfigError

KINDS = ("mock", "reliable", "router")


def problems(home: Path, text: str) -> list[str]:
    (home / "config.yaml").write_text(text)
    try:
        load(
            home=home,
            workspace=None,
            env={"HOME": str(home)},
            flags={},
            trusted=False,
            presets=("openrouter", "local"),
            kinds=KINDS,
        )
    except ConfigError as error:
        return [str(problem).replace(f"{home}/", "") for problem in error.problems]
    return []


def test_what_holds_together_is_fine(tmp_path: Path) -> None:
    text = """\
providers:
  models:
    split: {kind: router, routes: {work: "steady:high", title: local, default: one/x}}
    steady: {kind: reliable, providers: [openrouter/a/b, one]}
    one: {kind: mock}
"""
    assert problems(tmp_path, text) == []


def test_everything_wrong_is_told_at_once(tmp_path: Path) -> None:
    text = """\
security: {autonomy: godmode}
providers:
  models:
    empty: {kind: reliable}
    split:
      kind: router
      routes: {work: nobody/x}
    steady: {kind: reliable, providers: [one, circle]}
    circle: {kind: reliable, providers: [steady]}
    one: {kind: mock}
"""
    found = problems(tmp_path, text)
    assert len(found) == 5
    assert found[0].startswith("config.yaml:1: security.autonomy = godmode")
    assert found[1].startswith("config.yaml:4: providers.models.empty.providers: is missing")
    assert found[2] == (
        "config.yaml:7: providers.models.split.routes.work = nobody/x: must be PROVIDER or "
        "PROVIDER/MODEL, with one of circle, empty, local, one, openrouter, steady"
    )
    assert found[3] == (
        "config.yaml:8: providers.models.steady.providers[1] = circle: "
        "leads back to itself: steady -> circle -> steady"
    )
    assert found[4].endswith("leads back to itself: circle -> steady -> circle")


@pytest.mark.parametrize("entry", ["[]", "one", "[one, 7]"])
def test_what_is_no_list_of_names_is_told(tmp_path: Path, entry: str) -> None:
    text = (
        f"providers: {{models: {{a: {{kind: reliable, providers: {entry}}}, one: {{kind: mock}}}}}}"
    )
    assert any("providers.models.a.providers" in problem for problem in problems(tmp_path, text))


def test_a_purpose_nothing_is_asked_for_is_told(tmp_path: Path) -> None:
    text = "providers:\n  models:\n    split: {kind: router, routes: {wrk: local}}\n"
    (told,) = problems(tmp_path, text)
    assert told.startswith("config.yaml:3: providers.models.split.routes.wrk = local: no such")
    assert "work, subagent, title" in told
