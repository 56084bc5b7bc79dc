# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Names of gateways, by :func:`report.build`, that a person knows."""

from collections.abc import Mapping
from typing import Any

_NAMED = 3  # routers of a group, or networks, in one name


def of_router(router: dict[str, Any]) -> str:
    """The name of a router: that of Neutron, that of the row, or its UUID."""
    return str(router['neutron_name'] or router['name'] or router['uuid'])


def of_group(group: dict[str, Any], routers: Mapping[str, dict[str, Any]]
             ) -> str:
    """The name of a gateway group: its routers, and their addresses."""
    names = _some([of_router(routers[uuid]) for uuid in group['routers']])
    networks = _some([network for port in group['ports']
                      for network in port['networks']])
    found = f'{names} ({networks})' if networks else names
    return found or group['name']


def of_port(port: dict[str, Any], group: dict[str, Any],
            routers: Mapping[str, dict[str, Any]]) -> str:
    """The name of a gateway port, as seen from its group."""
    if len(group['ports']) == 1:
        return 'gateway port'
    router = routers.get(port['router'])
    of = f' of {of_router(router)}' if router else ''
    return f'gateway port{of} ({_some(port["networks"]) or port["name"]})'


def of_drain(drain: str, routers: Mapping[str, dict[str, Any]]) -> str:
    """The name of one wish: a router with its UUID, or all."""
    router = routers.get(drain)
    if router is None or of_router(router) == drain:
        return drain
    return f'{of_router(router)} ({drain})'


def _some(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ', '.join(names[:_NAMED]) + (f' and {more} more' if more > 0
                                        else '')
