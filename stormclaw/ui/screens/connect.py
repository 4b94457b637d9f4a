"""From no model to a model: provider, key, one real test call, and the session goes on with it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from textual import on
from textual.widget import Widget
from textual.widgets import Input

from stormclaw.errors import StormClawError
from stormclaw.ui.rows import BLANK, Row, Run, wrap_runs
from stormclaw.ui.screens.page import Page
from stormclaw.ui.text import one_line
from stormclaw.ui.widgets.detail import Detail
from stormclaw.ui.widgets.picker import Picker

if TYPE_CHECKING:
    from stormclaw.config.settings import ModelSettings
    from stormclaw.providers.choose import Found
    from stormclaw.providers.connectable import Connectable

Step: TypeAlias = Literal["provider", "address", "key", "model", "trying", "failed"]

ASKS: dict[Step, str] = {
    "address": "Where does the server answer? (https://... or http://127.0.0.1:PORT/v1)",
    "key": "Key (not shown; kept in the system's keyring, else in a file only you can read)",
    "model": "Model (empty: what the server has, or the usual one)",
}
OWN = "another server"


class ConnectScreen(Page[None]):
    """One step after the other on one screen; Esc goes one step back."""

    NAME = "Connect a model"
    HINTS: ClassVar[tuple[tuple[str, str], ...]] = (("enter", "go on"),)
    DEFAULT_CSS = """
    ConnectScreen Input {
        display: none; height: 1; border: none; margin: 0 2; padding: 0 1;
        background: $sc-surface; color: $sc-text; border-left: outer $sc-accent;
        &:focus { border: none; border-left: outer $sc-accent; background: $sc-surface; }
        & .input--placeholder { color: $sc-muted; }
    }
    """

    def __init__(self, argument: str = "") -> None:
        super().__init__(argument)
        self._step: Step = "provider"
        self._presets: Sequence[Connectable] = ()
        self._there: Mapping[str, str] = {}
        self._found: Found | None = None
        self._preset: Connectable | None = None
        self._address = self._key = self._model = ""

    def body(self) -> Iterable[Widget]:
        """What happens, the providers, the line to type in."""
        self.words = Detail()
        self.picker = Picker(self._draw)
        self.field = Input(select_on_focus=False)
        self.field.cursor_blink = False
        yield from (self.words, self.field, self.picker)

    def trail(self) -> tuple[Run, ...]:
        """Which step."""
        name = self._preset.label if self._preset is not None else ""
        return (Run(self.NAME, "text", "b"), Run(f"  {name}", "muted"))

    async def on_mount(self) -> None:  # type: ignore[override]
        """Find out what is at hand; `/connect NAME` begins with that provider."""
        from stormclaw.providers.choose import LOCAL, probe_loopback
        from stormclaw.providers.connectable import at_hand, connectables

        super().on_mount()
        self._presets = connectables()
        self.picker.fill(len(self._presets) + 1)
        runtime = self.storm.runtime
        if runtime is not None:
            self._there = at_hand(runtime.place.env, runtime.home)
        self._to("provider")
        names = [preset.name for preset in self._presets]
        wanted = {"key": "openrouter", LOCAL: ""}.get(self.argument, self.argument)
        if wanted in names:
            self._choose(names.index(wanted))
        self._found = await probe_loopback()
        self.picker.redraw()
        if self.argument == LOCAL and self._found is not None:
            self._choose(names.index(self._found.preset))
        elif self.argument == LOCAL and LOCAL in self._there:
            self._choose(names.index(LOCAL))

    def _draw(self, index: int, width: int, picked: bool) -> tuple[Sequence[Run], Sequence[Run]]:
        if index == len(self._presets):
            return [Run(f"{OWN:<18}"), Run("anything that speaks like OpenAI", "muted")], []
        preset = self._presets[index]
        state = self._there.get(preset.name, "")
        if self._found is not None and self._found.preset == preset.name:
            state = "answers here"
        where = preset.where if width >= 60 else ""
        left = [Run(f"{preset.label:<18}"), Run(where, "muted")]
        return left, [Run(state, "accent")]

    def _to(self, step: Step, *, said: Sequence[Row] = ()) -> None:
        self._step = step
        typed = step in ASKS
        self.field.display, self.picker.display = typed, step == "provider"
        rows = list(said)
        if step == "provider":
            rows = [Row((Run("Which one?", "text", "b"),))]
        elif typed:
            rows += [Row((Run(ASKS[step]),)), *self._aside(step)]
            self.field.password = step == "key"
            self.field.value = self._model if step == "model" else ""
            self.field.focus()
        if step == "provider":
            self.picker.focus()
        self.words.styles.height = len(rows) + 2
        self.words.show(rows)
        self.refresh_facts()

    def _aside(self, step: Step) -> list[Row]:
        preset = self._preset
        if step == "key" and preset is not None and preset.key_url:
            return [Row((Run(f"a key can be had at {preset.key_url}", "muted"),))]
        return []

    @on(Picker.Taken)
    def _taken(self) -> None:
        self._choose(self.picker.cursor)

    def _choose(self, index: int) -> None:
        self.picker.move_to(index)
        self._key = self._address = self._model = ""
        if index == len(self._presets):
            self._preset = None
            self._to("address")
            return
        preset = self._preset = self._presets[index]
        self._model = preset.model
        if self._found is not None and self._found.preset == preset.name:
            self._address, self._model = self._found.base_url, self._found.model
        self._to("key" if preset.needs_key and not self._keyed(preset) else "model")

    def _keyed(self, preset: Connectable) -> bool:
        return preset.needs_key and preset.name in self._there

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        text = event.value.strip()
        if self._step == "address":
            if not text.startswith(("http://", "https://")):
                self.say("an address begins with http:// or https://", "attention")
                return
            self._address = text.rstrip("/")
            self._to("key")
        elif self._step == "key":
            if not text and self._preset is not None:
                self.say("without a key this provider does not answer", "attention")
                return
            self._key = text
            self._to("model")
        elif self._step == "model":
            self._model = text
            self.run_worker(self._try(), exclusive=True, exit_on_error=False)

    def _settings(self) -> tuple[str, ModelSettings]:
        from stormclaw.config.settings import ModelSettings
        from stormclaw.providers.presets import KIND

        preset = self._preset
        if preset is None:
            return "own", ModelSettings(kind=KIND, model=self._model, base_url=self._address)
        settings = preset.configured(self._model, self._address)
        return preset.name, replace(settings, api_key_env="" if self._key else settings.api_key_env)

    async def _try(self) -> None:
        runtime = self.storm.runtime
        if runtime is None:
            return
        name, settings = self._settings()
        self._to("trying", said=[Row((Run(f"asking {name} ..."),))])
        try:
            if not self._key and self._preset is not None and self._preset.needs_key:
                self._key = await asyncio.to_thread(self._known_key, name)
            report = await runtime.connect(name, settings, self._key)
        except (StormClawError, OSError) as error:
            self._failed(str(error).splitlines())
            return
        if not report.ok:
            self._failed(report.lines())
            return
        storm = self.storm
        self.dismiss()
        storm.tell(f"connected: {name}/{report.model or settings.model}. It answers from here.")
        for line in report.lines()[1:]:
            storm.tell(" ".join(line.split()))

    def _known_key(self, name: str) -> str:
        from stormclaw.config.keys import find_key

        runtime = self.storm.runtime
        if runtime is None:
            return ""
        envs = self._preset.key_envs if self._preset is not None else ()
        env = runtime.place.env
        variable = next((variable for variable in envs if env.get(variable)), "")
        return find_key(name, env, runtime.home, api_key_env=variable) or ""

    def _failed(self, lines: Sequence[str]) -> None:
        width = max(20, self.size.width - 10)
        sign = Run(f"{self.storm.signs.failed} ", "error")
        rows = [Row((sign, Run("No model answered", "text", "b")))]
        rows += [row for line in lines for row in wrap_runs(one_line(line), width)]
        rows += [BLANK, Row((Run("Nothing was saved. esc goes back a step.", "muted"),))]
        self._to("failed", said=rows)

    def action_leave(self) -> None:
        """One step back; from the first one, out."""
        needs_key = self._preset is None or self._preset.needs_key
        back: dict[Step, Step] = {
            "address": "provider",
            "key": "provider" if self._preset is not None else "address",
            "model": "key" if needs_key else "provider",
            "failed": "model",
            "trying": "model",
        }
        if self._step == "provider":
            self.dismiss()
            return
        self.workers.cancel_node(self)
        self._to(back[self._step])
