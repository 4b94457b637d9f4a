"""Claude on Amazon Bedrock: the same messages, signed by AWS, answered in binary frames."""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from stormclaw import __version__
from stormclaw.config.settings import ModelSettings
from stormclaw.errors import ConfigError, Problem, ProviderError
from stormclaw.providers._anthropic.aws import SIGN_IN, named
from stormclaw.providers._anthropic.client import Client, Target, is_address, transport
from stormclaw.providers._anthropic.errors import anthropic_error
from stormclaw.providers._anthropic.frames import FrameReader
from stormclaw.providers._anthropic.wire import Body
from stormclaw.providers.anthropic import Messages

if TYPE_CHECKING:
    from anthropic import APIStatusError, AsyncAnthropicBedrock, Omit

VERSION: Final = "bedrock-2023-05-31"
"""The version of the protocol that every Claude on Bedrock takes."""


class BedrockClient(Client):
    """The SDK's client for Bedrock; AWS's own tools find the credentials.

    Args:
        target: An address instead of the region's, a Bedrock API key, further headers.
        region: "" for the environment's.
    """

    def __init__(self, target: Target, region: str) -> None:
        super().__init__(target.base_url or "Amazon Bedrock")
        self._target = target
        self._region = region

    def reader(self) -> FrameReader:
        """AWS's event stream."""
        return FrameReader()

    def _build(self) -> AsyncAnthropicBedrock:
        # What the first request would import on the event loop or while the clock runs.
        for module in ("boto3", "botocore.auth", "botocore.awsrequest", "botocore.eventstream"):
            importlib.import_module(module)
        from anthropic import AsyncAnthropicBedrock

        target = self._target
        try:
            client = AsyncAnthropicBedrock(
                api_key=target.key,
                aws_region=self._region or None,
                base_url=target.base_url or None,
                default_headers={"User-Agent": f"stormclaw/{__version__}", **target.headers},
                http_client=transport(target.base_url or "https://"),
                max_retries=0,
            )
        except ValueError as error:
            hint = "providers.models.NAME.region or AWS_REGION names it: us-east-1, eu-central-1"
            raise ProviderError("bad_request", "no AWS region is configured", hint=hint) from error
        except Exception as error:
            if (known := self._foreign(error)) is not None:
                raise known from None
            raise
        self.place = str(client.base_url).rstrip("/")
        return client

    def _addressed(self, body: Body) -> tuple[str, bytes, dict[str, str | Omit]]:
        betas = {"anthropic_beta": body.betas} if body.betas else {}
        path = f"/model/{quote(body.model, safe=':;')}/invoke-with-response-stream"
        return path, body.content(anthropic_version=VERSION, **betas), {}

    def _refusal(self, error: APIStatusError) -> ProviderError:
        response = error.response
        said = self._said(error, self._target.key or "")
        name = response.headers.get("x-amzn-errortype", "").partition(":")[0]
        return named(anthropic_error(response.status_code, response.headers, said), name)

    def _foreign(self, error: Exception) -> ProviderError | None:
        from botocore.exceptions import BotoCoreError  # type: ignore[import-untyped]

        if isinstance(error, BotoCoreError) or "AWS credentials" in str(error):
            return ProviderError("auth", f"AWS: {error}", hint=SIGN_IN)
        return None


def connect(name: str, settings: ModelSettings, key: str | None) -> Messages:
    """The provider called `name`; nothing is asked of AWS yet.

    Raises:
        ConfigError: What it needs is not installed, or the address is none.
    """
    place = f"providers.models.{name}"
    if not _installed("boto3"):
        wanted = "needs boto3: pip install 'stormclaw[bedrock]'"
        raise ConfigError([Problem("configuration", f"{place}.kind", settings.kind, wanted)])
    address = settings.base_url.rstrip("/")
    if address and not is_address(address):
        wanted = "must be an address that begins with http:// or https://, or be left out"
        raise ConfigError([Problem("configuration", f"{place}.base_url", address, wanted)])
    key = (key or "").strip() or None
    client = BedrockClient(Target(address, key, settings.headers), settings.region)
    return Messages(name, settings, client)


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ValueError:
        return False
