# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Routers and chassis by the names that operators use.  Pure."""

import collections
import dataclasses
import typing

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.common import wording
from ovn_network_agent.model import selection
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Row

NEUTRON_NAME = 'neutron:router_name'
NETWORK_NAME = 'neutron:network_name'
NEUTRON_PREFIX = 'neutron-'


class Router(typing.NamedTuple):
    """A router and the names that an operator may use for the router."""

    uuid: str
    name: str  # of the row; Neutron writes neutron-<Neutron's UUID>
    label: str = ''  # see neutron_name
    default_routes: tuple[model.NbDefaultRoute, ...] = ()

    def is_called(self, text: str) -> bool:
        """Whether a text is one of the names of this router."""
        return text in (self.uuid, self.name) or (
            self.name == NEUTRON_PREFIX + text) or (
            text == self.label and selection.is_free(NEUTRON_PREFIX, text))


@dataclasses.dataclass(frozen=True, slots=True)
class Directory:
    """The routers and chassis of OVN at one moment."""

    # By UUID.
    routers: dict[str, Router] = dataclasses.field(default_factory=dict)
    # See the function hostnames.
    hostnames: dict[str, str] = dataclasses.field(default_factory=dict)

    def hostname(self, chassis: str) -> str:
        """Host name of a chassis, or its chassis name without a host name."""
        return self.hostnames.get(chassis) or chassis

    def describe(self, uuid: str) -> str:
        """Text for a message: the best name of a router, and its UUID."""
        router = self.routers.get(uuid)
        if router is None:
            return f'router {uuid}'
        return f'router {router.label or router.name} ({uuid})'


def neutron_name(row: Row) -> str:
    """The name of a router in Neutron, which its tenant chooses; printable."""
    return wording.one_line(
        columns.entry(row, 'external_ids', NEUTRON_NAME) or '')


def read(nb: columns.Tables, sb: columns.Tables) -> Directory:
    """The routers and chassis in the replicas."""
    routers = {}
    for row in nb['Logical_Router'].values():
        routes = filter(None, map(rows.default_route, row.static_routes))
        routers[str(row.uuid)] = Router(
            str(row.uuid), row.name, neutron_name(row),
            tuple(sorted(routes, key=lambda r: (r.nexthop, r.output_port))))
    return Directory(routers, hostnames(sb))


def hostnames(sb: columns.Tables) -> dict[str, str]:
    """Printable host names of chassis, with its name if several share one."""
    owners = [ownership.Owner(wording.one_line(row.hostname), row.name)
              for row in sb['Chassis'].values()]
    common = collections.Counter(owner.hostname for owner in owners)
    return {owner.chassis: str(owner) if common[owner.hostname] > 1 else
            owner.hostname for owner in owners}


def network_name(row: Row) -> str:
    """The name of a logical switch that a person knows."""
    label = wording.one_line(
        columns.entry(row, 'external_ids', NETWORK_NAME) or '')
    return label or str(columns.atom(row, 'name'))


