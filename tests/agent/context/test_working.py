"""Working memory: notes and results of a session, whatever is on the wire."""

from __future__ import annotations

import json
from collections.abc import Sequence

from branches import Talk
from hypothesis import given
from hypothesis import strategies as st

from stormclaw.agent.context.window import elided
from stormclaw.agent.context.working import MOST_HITS, kept, notes
from stormclaw.protocol.display import Headline
from stormclaw.protocol.messages import (
    NO_USAGE,
    AssistantTurn,
    Delegation,
    Node,
    Status,
    Summary,
    ToolOutcome,
    UserText,
)
from stormclaw.protocol.tool import Kept


def ids(found: Sequence[Kept]) -> list[str]:
    return [one.id for one in found]


def test_the_last_word_on_a_key_counts_and_an_empty_one_forgets() -> None:
    talk = Talk()
    talk.remembered("port", "80")
    talk.remembered("host", "x")
    talk.remembered(" port ", "8080")
    assert notes(talk.nodes) == {"host": "x", "port": "8080"}
    talk.remembered("host", "  ")
    assert notes(talk.nodes) == {"port": "8080"}
    (found,) = kept(talk.nodes, "PORT")
    assert found == Kept("port", "note", "8080", "8080")


def test_only_what_was_really_kept_counts() -> None:
    talk = Talk()
    talk.remembered("a", "1", "denied")
    talk.remembered("b", "2", "interrupted")
    talk.remembered("c", "3", "failed")
    talk.called("remember", "a", "no", arguments="{broken")
    talk.called("remember", "a", "no", arguments={"key": 5, "value": "x"})
    talk.called("read_file", "a", arguments={"key": "d", "value": "4"})
    talk.add(ToolOutcome("stray", "remember", "done", "Kept", Headline("keep", "e")))
    assert notes(talk.nodes) == {}


def test_a_listing_has_notes_then_what_is_held_back_newest_first() -> None:
    talk = Talk()
    first, second, third = (talk.called("read_file", "about", f"out {n}") for n in range(3))
    talk.remembered("old", "1")
    talk.remembered("new", "two\nlines")
    talk.hide(first, third)
    found = kept(talk.nodes, " ")
    assert ids(found) == ["new", "old", third, first]
    assert found[0].title == "two lines"
    assert all(one.text == "" for one in found)
    assert [one.held_back for one in found] == [False, False, True, True]
    assert second not in ids(found)


def test_a_result_comes_back_by_id_by_its_beginning_and_by_its_call() -> None:
    talk = Talk()
    talk.called("read_file", "about", "one")
    name = talk.called("grep", "x", "the needle", arguments={"pattern": "x" * 300})
    talk.hide(name)
    (found,) = kept(talk.nodes, name)
    assert found.text == (
        f"the needle\n\n[what the call was given]\n{json.dumps({'pattern': 'x' * 300})}"
    )
    assert (found.kind, found.held_back) == ("result", True)
    assert kept(talk.nodes, name[:8]) == (found,)
    assert kept(talk.nodes, "c2") == (found,)
    assert kept(talk.nodes, name[:5]) == ()
    # What the model is told in place of the result names the id that works.
    said = elided(next(node for node in talk.nodes if node.id == name))
    assert kept(talk.nodes, f"recall {name}") == kept(talk.nodes, f"`{name}`") == (found,)
    assert f"`recall {name}`" in said


def test_a_beginning_that_fits_two_is_no_id() -> None:
    talk = Talk()
    body = ToolOutcome("x", "grep", "done", "o", Headline("grep", "x"))
    talk.nodes = [
        Node("abcdef111111", None, "root", 0.0, body),
        Node("abcdef222222", "abcdef111111", "root", 1.0, body),
    ]
    assert kept(talk.nodes, "abcdef") == ()
    assert ids(kept(talk.nodes, "abcdef1")) == ["abcdef111111"]


def test_a_delegation_brings_its_task_and_an_empty_result_says_so() -> None:
    talk = Talk()
    outcome = ToolOutcome("c", "spawn_agent", "done", "it is in b.py", Headline("agent", "scout"))
    child = talk.add(Delegation(outcome, "root/scout", "find it", "done", NO_USAGE))
    empty = talk.called("shell_exec", "about", "")
    assert kept(talk.nodes, child)[0].text == "[the task]\nfind it\n\nit is in b.py"
    assert kept(talk.nodes, empty)[0].text == "(no output)"


def test_words_find_notes_and_results_best_first() -> None:
    talk = Talk()
    talk.called("grep", "about", "nothing here")
    weak = talk.called("read_file", "about", "the Retry limit stands once")
    strong = talk.called("read_file", "about", "retry retry retry LIMIT limit")
    talk.remembered("retry limit of the server", "five; retry with a wait, a limit of a minute")
    found = kept(talk.nodes, "limit RETRY")
    assert ids(found) == ["retry limit of the server", strong, weak]
    assert all(one.text == "" for one in found)
    assert "stands once" in found[-1].title
    (only,) = kept(talk.nodes, "stands once")
    assert only.text == "the Retry limit stands once"
    assert kept(talk.nodes, "limit zebra") == ()


def test_hits_are_bounded() -> None:
    talk = Talk()
    for n in range(50):
        talk.called("grep", "about", f"needle {n}")
    found = kept(talk.nodes, "needle")
    assert len(found) == MOST_HITS
    assert "needle 49" in found[0].title


def test_what_a_compaction_took_can_be_found_and_what_the_person_took_cannot() -> None:
    talk = Talk()
    words = talk.add(UserText("use tabs, said the zebra"))
    answer = talk.add(AssistantTurn("zebra noted"))
    secret = talk.add(UserText("forget this zebra"))
    assert kept(talk.nodes, "zebra") == ()
    talk.hide(secret, by="you")
    talk.add(Summary("zebras were talked about", (words, answer)))
    assert ids(kept(talk.nodes, "zebra")) == [answer, words]
    assert kept(talk.nodes, words)[0].text == "use tabs, said the zebra"
    assert kept(talk.nodes, secret) == ()
    assert secret not in ids(kept(talk.nodes, ""))


def test_recalling_does_not_find_itself() -> None:
    talk = Talk()
    talk.called("recall", "needle", "needle")
    hidden = talk.called("remember", "k", "Forgotten: needle")
    talk.hide(hidden)
    assert kept(talk.nodes, "needle") == ()
    assert kept(talk.nodes, "") == ()


words = st.text(alphabet="abc \n", max_size=6)


@given(
    st.lists(st.tuples(words, words, st.sampled_from(["done", "failed", "denied"])), max_size=12),
    words,
)
def test_the_fold_is_a_dictionary(written: list[tuple[str, str, Status]], wanted: str) -> None:
    talk, model = Talk(), dict[str, str]()
    for key, value, status in written:
        talk.remembered(key, value, status)
        if status == "done":
            name = " ".join(key.split())
            model.pop(name, None)
            if value.strip():
                model[name] = value
    assert dict(notes(talk.nodes)) == model
    for key, value in model.items():
        if key:
            assert kept(talk.nodes, key) == (
                Kept(key, "note", kept(talk.nodes, key)[0].title, value),
            )
    for one in kept(talk.nodes, wanted):
        assert "\n" not in one.title
