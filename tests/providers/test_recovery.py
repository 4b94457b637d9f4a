"""The table of what is done about errors: whole, sensible, and the same everywhere."""

from __future__ import annotations

from typing import get_args

import pytest

from stormclaw.errors import RETRYABLE, ErrorClass, ProviderError
from stormclaw.providers._retry_after import MAX_WAIT_S, wait_before_retry
from stormclaw.providers.recovery import RECOVERY, cooldown_s, with_hint

CLASSES: tuple[ErrorClass, ...] = get_args(ErrorClass)
STEPS = ("/connect", "/model", "/new", "send it again", "say it differently")


def test_every_class_has_a_row_and_no_row_is_left_over() -> None:
    assert set(RECOVERY) == set(CLASSES)


@pytest.mark.parametrize("kind", CLASSES)
def test_every_hint_names_something_a_person_can_do(kind: ErrorClass) -> None:
    hint = RECOVERY[kind].hint
    assert any(step in hint for step in STEPS)
    assert "!" not in hint
    assert "please" not in hint.lower()


def test_what_passes_by_itself_is_what_the_exit_code_says() -> None:
    retried = {kind for kind in CLASSES if RECOVERY[kind].retry}
    assert retried == RETRYABLE | {"provider"}


def test_a_cooldown_only_where_somebody_else_can_be_asked() -> None:
    for kind, row in RECOVERY.items():
        assert not row.cooldown_s or row.next_provider or row.next_key, kind
        assert not row.next_key or row.next_provider, kind


def test_what_the_agent_mends_is_not_taken_elsewhere() -> None:
    compacted = {kind for kind, row in RECOVERY.items() if row.compact}
    assert compacted == {"context_length", "too_large"}
    assert not any(RECOVERY[kind].next_provider or RECOVERY[kind].retry for kind in compacted)


@pytest.mark.parametrize(
    ("kind", "limit", "tries"),
    [("server", 2, 2), ("timeout", 2, 1), ("provider", 5, 1), ("server", 0, 0), ("auth", 9, 0)],
)
def test_retries_end_where_the_table_or_the_settings_say(
    kind: ErrorClass, limit: int, tries: int
) -> None:
    error = ProviderError(kind, "no")
    made = 0
    while wait_before_retry(error, made, limit, 0.5) is not None:
        made += 1
    assert made == tries


def test_waits_grow_and_are_bounded() -> None:
    error = ProviderError("server", "no")
    waits = [wait_before_retry(error, tries, 99, 0.5) or 0.0 for tries in range(12)]
    assert 0.25 <= waits[0] <= 0.5
    assert max(waits) <= 8.0


@pytest.mark.parametrize(
    ("asked_s", "waited_s"), [(0.0, 0.0), (MAX_WAIT_S, MAX_WAIT_S), (MAX_WAIT_S + 1, None)]
)
def test_the_server_says_how_long_unless_it_is_too_long(
    asked_s: float, waited_s: float | None
) -> None:
    error = ProviderError("rate_limit", "slow", retry_after_s=asked_s)
    assert wait_before_retry(error, 0, 2, 0.5) == waited_s


def test_who_failed_is_passed_over_as_long_as_it_asked_or_as_the_table_says() -> None:
    assert cooldown_s(ProviderError("rate_limit", "slow", retry_after_s=7.0)) == 7.0
    assert cooldown_s(ProviderError("rate_limit", "slow")) == RECOVERY["rate_limit"].cooldown_s
    assert cooldown_s(ProviderError("bad_request", "no")) == 0.0


def test_a_hint_of_its_own_is_kept() -> None:
    assert with_hint(ProviderError("auth", "no", hint="mine")).hint == "mine"
    assert with_hint(ProviderError("auth", "no")).hint == RECOVERY["auth"].hint
