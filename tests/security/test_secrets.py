"""Keys in what a model is about to read, and code that only looks as if it held some."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stormclaw.security.secrets import screen

KEY = "sk-proj-abcdEFGH1234ijkl5678"

HELD = [
    (f"OPENAI_API_KEY={KEY}", "sk-p***"),
    (f"nothing but {KEY} here", "sk-p***"),
    ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "ghp_***"),
    ("aws: AKIAQ3EGRTZUVWXY2345", "AKIA***"),
    ('aws_secret_access_key = "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"', "zKal***"),
    ("token: 7f9c2ba4e88f827d616045507605853e", "7f9c***"),
    ('"session_token": "123e4567-e89b-12d3-a456-426614174000"', "123e***"),
    ("Authorization: Bearer abcDEF123456ghiJKL789", "abcD***"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P", "eyJh***"),
    ("postgres://app:s3cr3tPw9@db.internal:5432/x", "app***"),
    ("redis://:Zq8!kd93jf@cache:6379/0", "user***"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----\nrest", "priv***"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\ncut off in the mid", "priv***"),
]

CODE = [
    "token = next(tokens)",
    'api_key = os.environ["OPENROUTER_API_KEY"]',
    "session_token=self.tokens.current_session_token_v2",
    "access_token: Annotated[str, Depends(oauth2_scheme2)]",
    "secret_key = generate_secret_key_with_32_bytes()",
    "password: hunter2",
    "API_KEY=your-api-key-goes-here-1234",
    "api_key: sk-xxxxxxxxxxxxxxxxxxxx",
    "key id AKIAIOSFODNN7EXAMPLE",
    "postgres://postgres:postgres@localhost/x",
    "git@github.com:someone/project.git and https://example.com/a:b@c",
    "commit 9f3c07a4e88f827d616045507605853ed3486d2a",
    "sha256:7f83b1657ff1fc53b92dc18148a1d65dfc2d4b1fa3d677284addd200126d9069",
    "const token = await getToken({ audience: 'https://api.example.com/v2' })",
    "",
]


@pytest.mark.parametrize(("text", "shown"), HELD)
def test_a_key_is_masked_and_counted(text: str, shown: str) -> None:
    seen = screen(text)
    assert seen.found == (shown,)
    assert seen.text != text
    assert "***" in seen.text


@pytest.mark.parametrize("text", CODE)
def test_code_and_examples_reach_the_model_as_they_are(text: str) -> None:
    assert screen(text) == type(screen(text))(text)


def test_what_stands_around_a_key_stays() -> None:
    assert screen(f"a {KEY} b\n{KEY}\n").text == "a sk-p*** b\nsk-p***\n"
    private = "x\n-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\ny"
    assert screen(private).text == "x\n-----BEGIN PRIVATE KEY-----\n***\ny"


@given(st.text(max_size=300))
def test_masking_twice_changes_nothing_more(text: str) -> None:
    once = screen(text).text
    assert screen(once).text == once
