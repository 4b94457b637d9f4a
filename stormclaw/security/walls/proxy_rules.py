"""Whom the proxy may talk to: the listed hosts, at their usual ports, where they really are."""

from __future__ import annotations

from collections.abc import Iterable

from stormclaw.security.hosts import allowing, is_local, opening
from stormclaw.security.walls.proxy_head import Refusal, Wish

NOT_LISTED = "403 not among the hosts this sandbox may talk to"


def judge_wish(wish: Wish, hosts: tuple[str, ...]) -> None:
    """May a program go there?

    A pattern without a port opens 443 to tunnels and 80 to plain HTTP; one with a port that one.

    Raises:
        Refusal: No; with what to list, unless that is no public host.
    """
    named = (each for each in hosts if not allowing(wish.host, (each,)))
    if wish.usual and allowing(wish.host, hosts):
        return
    if allowing(wish.host, tuple(named), wish.port):
        return
    raise Refusal(NOT_LISTED, "" if is_local(wish.host) else wish.place)


def judge_addresses(host: str, addresses: Iterable[str], hosts: tuple[str, ...]) -> None:
    """May a listed host be talked to where its name leads? One bad address refuses all.

    Raises:
        Refusal: It leads to this machine or its network, and the person did not list that.
    """
    for address in addresses:
        if is_local(address) and not opening(host, address, hosts):
            raise Refusal("403 this name leads to this machine or its network")
