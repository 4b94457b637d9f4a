"""`config show`: every setting with its origin, nothing secret readable."""

from __future__ import annotations

from pathlib import Path

from stormclaw.config.layers import load
from stormclaw.config.settings import Settings
from stormclaw.config.shapes import leaves
from stormclaw.config.show import printable, rows

USER = """\
security: {autonomy: full, allowed_hosts: ["a.example"]}
providers:
  models:
    mine:
      kind: mock
      base_url: http://me:hush-password@host.example/v1
      headers: {Authorization: hush-one, x-api-key: hush-two, X-Title: Storm, X-T: $HUSH}
      extra_body: {nested: [1, null, {deep: true}]}
"""


def shown(tmp_path: Path, text: str = USER) -> dict[str, tuple[str, str]]:
    (tmp_path / "config.yaml").write_text(text)
    loaded = load(
        home=tmp_path,
        workspace=None,
        env={"HOME": "/home/me", "HUSH": "hush-three"},
        flags={},
        trusted=False,
    )
    return {key: (value, origin) for key, value, origin in rows(loaded)}


def test_every_setting_has_a_row(tmp_path: Path) -> None:
    assert len(shown(tmp_path, "")) == len(list(leaves(Settings())))
    table = shown(tmp_path)
    assert table["security.autonomy"] == ("full", f"{tmp_path}/config.yaml:1")
    assert table["security.allowed_hosts"] == ("[a.example]", f"{tmp_path}/config.yaml:1")
    assert table["ui.bell"] == ("true", "defaults")
    assert table["agents.budget_usd"] == ("null", "defaults")
    assert table["providers.models.mine.model"] == ('""', "defaults")
    assert table["providers.models.mine.extra_body"][0] == "{nested: [1, null, {deep: true}]}"


def test_no_secret_is_readable(tmp_path: Path) -> None:
    table = shown(tmp_path)
    assert "hush" not in str(table)
    assert table["providers.models.mine.base_url"][0] == "http://***@host.example/v1"
    assert table["providers.models.mine.headers"][0] == (
        "{Authorization: ***, x-api-key: ***, X-Title: Storm, X-T: $HUSH}"
    )


def test_control_characters_are_shown_as_escapes() -> None:
    assert printable("a\x1b[2Jb\nc") == "a␛[2Jb\\nc"
