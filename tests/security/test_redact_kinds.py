"""Keys of every usual kind are masked in what is kept and said, in linear time."""

from __future__ import annotations

import base64
import hashlib

import pytest

from stormclaw.log import mask_secrets
from stormclaw.security.redact import redact
from stormclaw.security.secrets import screen


def made(length: int, of: str) -> str:
    """A value as random as a key, the same in every run, that is nobody's."""
    digest = b"".join(hashlib.sha256(f"{of}{n}".encode()).digest() for n in range(5))
    return base64.b64encode(digest, b"xy").decode().replace("=", "")[:length]


VALUE = made(40, "value")
WORD = made(16, "word")

KINDS = {
    "openai": (f"sk-proj-{VALUE}", VALUE),
    "openai in an error": (f"Incorrect API key provided: sk-{VALUE}. See", VALUE),
    "anthropic": (f"sk-ant-api03-{VALUE}", VALUE),
    "github": (f"ghp_{made(36, 'gh')}", made(36, "gh")),
    "aws id": (f"AKIA{made(40, 'aws').upper()[:16]}", made(40, "aws").upper()[:16]),
    "aws secret": (f"aws_secret_access_key = {VALUE}", VALUE),
    "slack": (f"xoxb-123456789012-{WORD}", WORD),
    "slack hook": (f"https://hooks.slack.com/services/T0AAAA/B0BBBB/{WORD}", WORD),
    "google": (f"AIza{made(35, 'g')}", made(35, "g")),
    "jwt": (f"eyJ{made(20, 'j')}.eyJ{VALUE}.{made(43, 's')}", VALUE),
    "pem": (f"-----BEGIN RSA PRIVATE KEY-----\n{VALUE}\n-----END RSA PRIVATE KEY-----", VALUE),
    "pem in json": (f"-----BEGIN PRIVATE KEY-----\\n{VALUE}\\n-----END PRIVATE KEY-----", VALUE),
    "pgp": (
        f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n{VALUE}\n-----END PGP PRIVATE KEY BLOCK-----",
        VALUE,
    ),
    "bearer": (f"Authorization: Bearer {VALUE}", VALUE),
    "token header": (f'curl -H "Authorization: token {VALUE}"', VALUE),
    "address": (f"postgres://app:{WORD}@db/x", WORD),
    "json": (f'{{"api_key": "{VALUE}"}}', VALUE),
    "json in json": (f'{{\\"access_token\\": \\"{VALUE}\\"}}', VALUE),
    "npmrc": (f"//registry.example.org/:_authToken={VALUE}", VALUE),
}
"""What both a record and a model must not see."""

RECORDS = {
    "dotenv": (f"DB_PASSWORD={WORD}", WORD),
    "dotenv key": (f"MAILER_KEY={VALUE}", VALUE),
    "quoted with blanks": (f'SECRET_KEY="a b {WORD}"', WORD),
    "option": (f"deploy --token {VALUE}", VALUE),
    "option password": (f"mysql --password {WORD}", WORD),
    "user": (f"curl -u ann:{WORD} https://x", WORD),
    "query": (f"https://x/y?key={VALUE}&z=1", VALUE),
    "cookie": (f"Cookie: session={VALUE}", VALUE),
    "netrc": (f"machine h login a password {WORD}", WORD),
}
"""Only in records: what a model reads may be a program that looks like this."""


@pytest.mark.parametrize("kind", [*KINDS, *RECORDS])
def test_a_record_holds_no_key(kind: str) -> None:
    text, secret = {**KINDS, **RECORDS}[kind]
    for mask in (mask_secrets, redact):
        masked = mask(text)
        assert secret not in masked
        assert "***" in masked
        assert mask(masked) == masked


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_reads_no_key(kind: str) -> None:
    text, secret = KINDS[kind]
    screened = screen(text)
    assert secret not in screened.text
    assert screened.found


@pytest.mark.parametrize(
    "code",
    [
        "token = next(tokens)",
        'password = os.environ["DB_PASSWORD"]',
        "+    secret: SecretStr = Field(default_factory=load_secret)",
        "-api_key=self._settings.providers.openai.api_key,",
        "login.password = form.password_field",
        "Authorization: Bearer <your-token>",
        "docker run -u 1000:1000 image",
    ],
)
def test_code_reaches_the_model_as_it_stands(code: str) -> None:
    assert screen(code).text is code or screen(code).text == code


PIECES = ["a", "sk-", "eyJ", "api_key", "api_key=", "a://", "-----BEGIN PRIVATE KEY-----"]
PIECES += ["Bearer ", "token=  ", "a:b@", "-u a:", "login a password ", '"token": "', "--token "]


@pytest.mark.parametrize("piece", PIECES)
def test_repeats_do_not_take_for_ever(piece: str) -> None:
    """Many characters each: quadratic work would not come to an end."""
    text = piece * (200_000 // len(piece))
    for masked in (mask_secrets, redact, screen):
        assert masked(text)
