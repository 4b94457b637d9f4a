"""What is done to a session as a whole from the list: go on with it, rename, delete, export."""

from __future__ import annotations

import asyncio

from stormclaw.errors import StormClawError
from stormclaw.protocol.command import Answer, OpenSession
from stormclaw.store.sessions import SessionInfo
from stormclaw.ui.screens.rewind import RewindPage
from stormclaw.ui.text import count, fit, one_line
from stormclaw.ui.tree_lines import SessionLine, TurnLine, WordsLine

TITLE = 40
"""Cells of a title within a question."""


class SessionsPage(RewindPage):
    """A page with a list of sessions."""

    def info(self) -> SessionInfo | None:
        """The session the cursor is on or in."""
        raise NotImplementedError

    def look_again(self) -> None:
        """Sessions may have come or gone."""
        raise NotImplementedError

    def is_open(self, info: SessionInfo) -> bool:
        """Whether it is the one that is open here."""
        return self.storm.session is not None and info.id == self.storm.session.id

    def on_picker_taken(self) -> None:
        """Enter: go on with a session; a turn of the open one needs a word more."""
        line, info = self.picker.line, self.info()
        if info is None:
            return
        if not self.is_open(info):
            self._go_on_with(info)
        elif isinstance(line, SessionLine):
            self.action_unfold(not line.open)
        elif isinstance(line, TurnLine):
            self.say("nothing is chosen yet: b both, c conversation, f files, n go on from here")
        else:
            self.dismiss()

    def action_unfold(self, wanted: bool) -> None:
        """Show or hide the turns of a session."""
        raise NotImplementedError

    def _go_on_with(self, info: SessionInfo) -> None:
        """Open it, after one question where that stops a turn."""
        from stormclaw.ui.deeds import show
        from stormclaw.ui.screens.confirm import Confirm

        storm = self.storm

        def go(yes: bool | None) -> None:
            if yes:
                self.dismiss()
                answer = Answer(change=OpenSession(info.id))
                storm.run_worker(
                    show(storm, "/resume", answer), group="command", exit_on_error=False
                )

        if storm.session is not None and storm.session.busy:
            question = f"Go on with {_called(info)}? The turn that runs here stops."
            self.app.push_screen(Confirm(question, "go", "stay"), go)
        else:
            go(True)

    def action_rename(self) -> None:
        """Another title."""
        info, runtime = self.info(), self.storm.runtime
        if info is None or runtime is None:
            return

        async def rename(title: str) -> None:
            try:
                title = await runtime.rename_session(title, info.id)
            except StormClawError as error:
                self.explain(str(error))
                return
            self.say(f"called {one_line(title)!r} from here", "success")
            self.look_again()
            self.storm.refresh_facts()

        def done(text: str) -> None:
            if text:
                self.storm.run_worker(rename(text), group="deed", exit_on_error=False)
            else:
                self.say("without a title nothing changes")

        self.write(info.title, done)

    def action_delete(self) -> None:
        """Delete a session, after one question that names it."""
        from stormclaw.ui.screens.confirm import Confirm

        line, info, runtime = self.picker.line, self.info(), self.storm.runtime
        if info is None or runtime is None:
            return
        if self.is_open(info):
            self.say("this session is open; only another one can be deleted")
            return
        if not isinstance(line, SessionLine | WordsLine):
            self.say("turns are never deleted; d on the session deletes all of it")
            return

        async def remove() -> None:
            try:
                await runtime.delete_session(info.id)
            except StormClawError as error:
                self.explain(str(error))
                return
            self.say(f"deleted {_called(info)}; receipts of its calls stay")
            self.look_again()

        def asked(yes: bool | None) -> None:
            if yes:
                self.storm.run_worker(remove(), group="deed", exit_on_error=False)

        turns = f", {count(info.turns, 'turn')}" if info.turns else ""
        question = f"Delete {_called(info)}{turns}, in {one_line(info.workspace.name)}, for good?"
        self.app.push_screen(Confirm(question, "delete", "keep"), asked)

    def action_export(self) -> None:
        """The open session through `/export`, another one as Markdown into the workspace."""
        from stormclaw.ui.deeds import run_command
        from stormclaw.ui.session_shelf import export

        info, runtime = self.info(), self.storm.runtime
        if info is None or runtime is None:
            return
        if self.is_open(info):
            work = run_command(self.storm, "/export")
            self.storm.run_worker(work, group="command", exit_on_error=False)
            self.say("exporting; the chat says where to")
            return

        async def write() -> None:
            try:
                path = await asyncio.to_thread(export, runtime, info)
            except StormClawError as error:
                self.explain(str(error))
                return
            self.say(f"written: {path.name}", "success")

        self.storm.run_worker(write(), group="deed", exit_on_error=False)


def _called(info: SessionInfo) -> str:
    """A session's title in quotes, or its id."""
    title = fit(one_line(info.title), TITLE)
    return f'"{title}"' if title else info.id
