"""Every error envelope servers are known for: the class, the words kept, the next step named."""

# ruff: noqa: E501
from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

import pytest

from stormclaw.errors import RETRYABLE, ErrorClass
from stormclaw.providers._errors import error_from_status


class Case(NamedTuple):
    """An HTTP answer and what it stands for."""

    id: str
    status: int
    body: object
    kind: ErrorClass
    message: str
    headers: Mapping[str, str] = {}


def error(message: str, **more: object) -> dict[str, object]:
    return {"error": {"message": message, **more}}


CASES = [
    Case("400", 400, error("Invalid value for 'x'", type="invalid_request_error"), "bad_request", "Invalid value"),
    Case("400-ctx", 400, error("This endpoint's maximum context length is 8192 tokens. However, you requested about 9000 tokens"), "context_length", "8192"),
    Case("400-ctx-openai", 400, error("Please reduce the length of the messages", code="context_length_exceeded"), "context_length", "reduce"),
    Case("400-ctx-llamacpp", 400, error("the request exceeds the available context size, try increasing it", type="exceed_context_size_error"), "context_length", "available context"),
    Case("400-ctx-anthropic", 400, error("prompt is too long: 210000 tokens > 200000 maximum"), "context_length", "210000"),
    Case("400-model-openrouter", 400, error("acme/none is not a valid model ID", code=400), "not_found", "not a valid model"),
    Case("400-key-gemini", 400, error("API key not valid. Please pass a valid API key.", status="INVALID_ARGUMENT"), "auth", "API key not valid"),
    Case("401", 401, error("No auth credentials found", code=401), "auth", "No auth"),
    Case("402", 402, error("Insufficient credits. Add more using https://openrouter.ai/credits", code=402), "payment", "Insufficient credits"),
    Case("402-in-flight", 402, error("wait for running requests", code=402, metadata={"limit_source": "openrouter_in_flight_budget"}), "rate_limit", "running requests", {"retry-after": "2"}),
    Case("403", 403, error("no permission for this model"), "forbidden", "no permission"),
    Case("403-moderation", 403, error("Your chosen model requires moderation and your input was flagged", code=403, metadata={"reasons": ["violence"], "flagged_input": "x", "provider_name": "Acme"}), "content_filter", "violence"),
    Case("403-limit", 403, error("Key limit exceeded (total limit)", code=403), "payment", "Key limit"),
    Case("404-model", 404, error("No endpoints found for acme/none.", code=404), "not_found", "No endpoints"),
    Case("404-tools", 404, error("No endpoints found that support tool use.", code=404), "tools_unsupported", "tool use"),
    Case("404-ollama", 404, error('model "none" not found, try pulling it first', type="api_error"), "not_found", "pulling"),
    Case("404-page", 404, "404 page not found", "not_found", "404 page not found"),
    Case("408", 408, error("Request timed out", code=408), "timeout", "timed out"),
    Case("413", 413, "<html><head><title>413 Request Entity Too Large</title></head></html>", "too_large", "413 Request Entity Too Large"),
    Case("429", 429, error("Rate limit exceeded: free-models-per-min", code=429), "rate_limit", "free-models"),
    Case("429-bedrock", 429, error("Too many tokens, please wait before trying again."), "rate_limit", "wait"),
    Case("429-quota", 429, error("You exceeded your current quota, please check your plan", code="insufficient_quota"), "payment", "quota"),
    Case("500-html", 500, "<html><body><h1>Internal &amp; Server Error</h1><script>x()</script></body></html>", "server", "Internal & Server Error"),
    Case("500-template", 500, error("conversation roles must alternate user and assistant", code=500), "bad_request", "alternate"),
    Case("502", 502, error("Provider returned error", code=502, metadata={"raw": '{"error":{"message":"Overloaded"}}', "provider_name": "Anthropic"}), "server", "Anthropic says Overloaded"),
    Case("503", 503, error("No available providers", code=503), "server", "providers"),
    Case("504", 504, "upstream request timeout", "timeout", "upstream"),
    Case("529", 529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "server", "Overloaded"),
    Case("400-mistral-id", 400, {"object": "error", "message": "Tool call id was call_x but must be a-z, A-Z, 0-9, with a length of 9.", "code": "3280"}, "bad_request", "length of 9"),
    Case("400-gemini-list", 400, [error('Invalid JSON payload received. Unknown name "additionalProperties"', code=400)], "bad_request", "additionalProperties"),
    Case("400-groq", 400, error("Failed to call a function.", code="tool_use_failed", failed_generation="<x>"), "provider", "Failed to call"),
    Case("422-detail", 422, {"detail": [{"loc": ["body", "stop"], "msg": "extra fields not permitted", "type": "value_error"}]}, "bad_request", "body.stop: extra fields"),
    Case("422-detail-text", 422, {"detail": "no such field"}, "bad_request", "no such field"),
    Case("400-string", 400, {"error": "llama3 does not support tools"}, "tools_unsupported", "does not support tools"),
    Case("400-vllm-tools", 400, {"object": "error", "message": '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'}, "tools_unsupported", "--tool-call-parser"),
    Case("500-empty", 500, "", "server", "HTTP 500"),
    Case("418-odd", 418, "[]", "bad_request", "HTTP 418"),
    Case("400-deep", 400, "[" * 5000, "bad_request", "["),
    Case("cloudflare", 403, {"success": False, "errors": [{"code": 10000, "message": "Authentication error"}]}, "forbidden", "Authentication error"),
    Case("307", 307, "", "protocol", "https://elsewhere.example/v1", {"location": "https://elsewhere.example/v1"}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_an_error_answer_gets_its_class_and_keeps_its_words(case: Case) -> None:
    text = case.body if isinstance(case.body, str) else json.dumps(case.body)
    found = error_from_status(case.status, case.headers, text)
    assert found.kind == case.kind
    assert case.message in str(found)
    assert found.hint
    assert len(str(found)) <= 1_000


@pytest.mark.parametrize(
    ("status", "body", "step"),
    [
        (401, error("nope"), "/connect"),
        (402, error("nope"), "/model"),
        (404, error("model x not found"), "/model"),
        (404, error("No endpoints found that support tool use."), "cannot use tools"),
        (404, error('model "x" not found, try pulling it first'), "ollama pull"),
        (404, "not found", "/v1"),
        (400, error("start with --jinja to use tools"), "--jinja"),
    ],
)
def test_the_hint_names_what_to_do(status: int, body: object, step: str) -> None:
    text = body if isinstance(body, str) else json.dumps(body)
    assert step in error_from_status(status, {}, text).hint


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        (
            {
                "retry-after": "Sun, 22 Nov 2026 10:00:30 GMT",
                "date": "Sun, 22 Nov 2026 10:00:00 GMT",
            },
            30.0,
        ),
        (
            {
                "retry-after": "Sun, 22 Nov 2026 09:00:00 -0000",
                "date": "Sun, 22 Nov 2026 10:00:00 GMT",
            },
            0.0,
        ),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(
    headers: dict[str, str], wait_s: float | None
) -> None:
    found = error_from_status(429, headers, json.dumps(error("slow down")))
    assert found.retry_after_s == wait_s


def test_only_what_passes_by_itself_is_worth_retrying() -> None:
    kinds = {case.id: case.kind for case in CASES}
    retried = {name for name, kind in kinds.items() if kind in RETRYABLE}
    assert retried == {
        "402-in-flight", "408", "429", "429-bedrock", "500-html", "502", "503", "504", "529",
        "500-empty",
    }  # fmt: skip
