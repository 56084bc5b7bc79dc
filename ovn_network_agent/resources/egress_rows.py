# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""All rows of OVN NB of an egress address at one router."""

import dataclasses

from ovn_network_agent import ownership
from ovn_network_agent.resources import base

#: As :data:`resources.peering.COLUMNS`; two of the names are keys of
#: external_ids.
COLUMNS = {
    'NAT': ('logical_ip', 'type', 'external_ip', 'gateway_port',
            'allowed_ext_ips', ownership.EXT_ID_EGRESS_ADDRESS,
            ownership.EXT_ID_EGRESS_CHASSIS),
    'Logical_Router_Policy': ('match', 'priority', 'action', 'nexthops'),
    'Address_Set': ('name', 'addresses')}


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class EgressNat:
    """A row of NAT, of the type 'snat'."""

    machine: str
    external: str
    # Name of the gateway port, '' where the router has one.
    port: str = ''
    # Name of the address set with the destinations, '' for all.
    destinations: str = ''
    # The egress address, and the chassis that translates to it, if the
    # machine keeps its own address up to there.
    address: str = ''
    chassis: str = ''

    def __str__(self) -> str:
        return (f'{self.machine} to {self.external}' +
                f' by {self.port}' * bool(self.port) +
                f' for ${self.destinations}' * bool(self.destinations) +
                f', {self.address} at {self.chassis}' * bool(self.chassis))


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class EgressPolicy:
    """A row of Logical_Router_Policy: 'reroute', 'allow' without next hops."""

    priority: int
    match: str
    # Sorted.
    nexthops: tuple[str, ...] = ()

    def __str__(self) -> str:
        return (f'{self.priority:d} {self.match} '
                f'{" ".join(("via", *self.nexthops)) if self.nexthops else ""}'
                ).rstrip()


@dataclasses.dataclass(frozen=True, slots=True)
class EgressRows(base.Resource):
    """The rows of an egress address at one router, sorted, in one transaction.
    """

    name: str
    # UUID of the Logical_Router row.
    router: str
    nats: tuple[EgressNat, ...]
    policies: tuple[EgressPolicy, ...] = ()
    # (name, addresses).
    address_sets: tuple[tuple[str, tuple[str, ...]], ...] = ()

    kind = 'egress_rows'
    key_fields = ('name', 'router')
    stage = base.Stage.NORTHBOUND
