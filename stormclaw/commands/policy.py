"""`/policy`: what may happen without asking, what asks, what never happens, and who said so."""

from __future__ import annotations

import asyncio

from stormclaw.errors import StoreError
from stormclaw.protocol.command import Answer, Command
from stormclaw.protocol.display import Table
from stormclaw.runtime import Runtime
from stormclaw.security import grants
from stormclaw.security.policy_rows import COLUMNS, grant_meant, rows
from stormclaw.security.tool_policy import layers_of, sift, unknown
from stormclaw.tools.registry import discover_tools


async def _run(runtime: Runtime, rest: str) -> Answer:
    verb, _, wanted = rest.strip().partition(" ")
    if not verb:
        return _shown(runtime)
    if verb != "forget" or not wanted.strip():
        return Answer("/policy shows the rules; /policy forget N takes grant N back", ok=False)
    return await asyncio.to_thread(_forget, runtime, wanted.strip())


def _shown(runtime: Runtime) -> Answer:
    policy, settings = runtime.rules.policy, runtime.settings
    registry = discover_tools()

    def canonical(name: str) -> str:
        tool = registry.resolve(name)
        return tool.name if tool else ""

    layers = layers_of(
        settings,
        runtime.place.loaded.origins,
        canonical,
        provider=runtime.provider_label,
        channel=runtime.channel,
    )
    taken = sift(registry.tools, layers)
    table = rows(
        policy,
        settings.security,
        hits=runtime.rules.hits,
        layers=layers,
        taken=taken,
        warnings=unknown(layers, registry.tools),
    )
    boundary = "nothing outside it" if policy.workspace_only else "paths outside it too"
    said = f"autonomy {policy.autonomy}; workspace {policy.workspace} ({boundary})"
    return Answer(said, Table(COLUMNS, tuple(row.cells for row in table)), screen="policy")


def _forget(runtime: Runtime, wanted: str) -> Answer:
    """Off the disk first: what is still written there would be back at the next start."""
    grant = grant_meant(runtime.rules.policy.grants, wanted)
    if grant is None:
        return Answer(f"no grant {wanted!r}; /policy numbers them", ok=False)
    try:
        lasting = grants.forget(runtime.home, runtime.workspace, grant)
    except StoreError as error:
        return Answer(str(error), ok=False)
    runtime.rules.forget(grant)
    how = "taken back for good" if lasting else "taken back"
    return Answer(f"{how}: {grant.kind} {grant.match}")


COMMAND = Command(
    "policy", "Autonomy, workspace boundary, rules, hits and grants", _run, usage="[forget N]"
)
