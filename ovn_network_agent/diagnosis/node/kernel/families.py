# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks that are made for routes of IPv4, and once more for those of IPv6.

The latter concern nodes with networks or VIPs of IPv6.  OVN names the
networks, so only the latter need the databases.
"""

from collections.abc import Callable
import dataclasses
import functools
import typing

from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.drivers.common import announcing
from ovn_network_agent.forward import rules

_DATABASES = ('ovs-database', 'nb-database', 'sb-database')
_Facts = typing.TypeVar('_Facts')


def of_both(name: str, one: check.Check[_Facts], about: str = ''
            ) -> tuple[check.Check[_Facts], check.Check[_Facts]]:
    """The check, and the same for IPv6, with the text ``about`` if given."""
    return one, dataclasses.replace(
        one, name=name, about=about or f'for IPv6: {one.about}',
        read=functools.partial(_read_ipv6, one.read),
        after=tuple(dict.fromkeys((*_DATABASES, *one.after))))


def _read_ipv6(read: Callable[..., _Facts], sources: sources.Sources
               ) -> _Facts:
    """The facts of IPv6; NotChecked on a node that announces none."""
    if not has_ipv6(sources):
        raise check.NotChecked('no provider network here, and no managed VIP, '
                               'is of IPv6')
    return read(sources, 6)


def has_ipv6(sources: sources.Sources) -> bool:
    """Whether the node announces addresses of IPv6, or would as the owner."""
    if any(vip.managed and vip.version == 6
           for vip in rules.load(sources.conf)):
        return True
    snapshot = sources.snapshot()
    places: list[announcing.Place] = [
        *(port for router in snapshot.routers
                for port in (*router.local_ports, *router.hosting_ports)),
              *(port for group in snapshot.groups for port in group.ports),
              *snapshot.networks.values()]
    return any(network.version == 6 for place in places if not place.vni
               for network in announcing.provider_networks(
                   sources.conf, place))
