# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What an address of a router is in OVN.  Pure."""

from collections.abc import Sequence
import typing

from ovn_network_agent import model
from ovn_network_agent.common import networks
from ovn_network_agent.diagnosis.address import claims
from ovn_network_agent.diagnosis.address import needs
from ovn_network_agent.diagnosis.address import subject as subjects
from ovn_network_agent.drivers import base
from ovn_network_agent.model import address_sources
from ovn_network_agent.model import wiring as wirings
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn import snapshot
from ovn_network_agent.ovn.chassis import directory
from ovn_network_agent.ovsdb import columns

# A router, what the address is there, its NAT row and gateway port.
_Found: typing.TypeAlias = tuple[model.Router, subjects.Kind,
                                 model.Nat | None, model.GatewayPort | None]


def make(address: str, builder: snapshot.Builder, nb: columns.Tables,
         sb: columns.Tables, wiring: wirings.Wiring,
         drivers: Sequence[base.Driver]) -> list[subjects.Subject]:
    """Find what an address is in OVN, and what has to exist for it.

    :returns: that outside of VNIs, of kind NOBODY if no router has the address
        there, and those in VNIs
    """
    seen = view(builder, nb, sb, wiring)
    found = [(router, *_place_in(
        address, router, builder.addresses(router.uuid).sources(address)))
             for router in seen.routers]
    places: dict[int, list[_Found]] = {0: []}
    for each in found:
        if each[1] is subjects.Kind.NOBODY:
            continue
        places.setdefault(each[3].domain if each[3] else 0, []).append(each)
    return [_of_routers(address, builder, nb, sb, drivers, seen, each)
            for _vni, each in sorted(places.items())]


def _of_routers(address: str, builder: snapshot.Builder, nb: columns.Tables,
                sb: columns.Tables, drivers: Sequence[base.Driver],
                seen: model.Snapshot, found: list[_Found]) -> subjects.Subject:
    if not found:
        return subjects.Subject(address, node=seen.node)
    # A router whose port is here comes first: it is asked for on this node.
    found.sort(key=lambda each: not (each[3] and each[3].local or
                                     each[2] and each[2].resident))
    router, kind, nat, port = found[0]
    machine = _machine(address, router, nb, sb) if (
        kind in (subjects.Kind.DISTRIBUTED, subjects.Kind.FIP)) else None
    served = [each for each in seen.addresses[router.uuid].values()
              if each.address == address and each.port.domain == (
                  port.domain if port else 0)]
    withheld = next((each.withheld for each in served if each.withheld), (
        builder.addresses(router.uuid).objection(
            address, port.lrp if port else '')))
    return needs.wanting(subjects.Subject(
        address, kind, seen.node, router, port, nat,
        machine.host if machine and machine.mac else
        hostname(sb, port.chassis) if port else '',
        tuple(_claim(nb, sb, *each) for each in found),
        machine=machine, own=builder.own, withheld=withheld,
        provider=provider(seen, port)),
        drivers, router.uuid, seen.node, router, *served)


def provider(seen: model.Snapshot, port: model.GatewayPort | None
             ) -> model.ProviderNetwork | None:
    """The network of a gateway port in a VNI, None without one here."""
    return seen.networks.get(port.network) if port and port.vni else None


def view(builder: snapshot.Builder, nb: columns.Tables, sb: columns.Tables,
         wiring: wirings.Wiring) -> model.Snapshot:
    """The view of all routers in some rows, see :func:`make`."""
    return builder.complete(builder.build(
        nb, sb, wiring, {}, model.Phase.RUNNING, full=True,
        also=frozenset(map(str, nb['Logical_Router']))))


def floating(address: str, nb: columns.Tables) -> list[columns.Row]:
    """The NAT rows of a floating IP that name a machine's port."""
    return [row for row in nb.get('NAT', {}).values()
            if row.external_ip == address and
            columns.optional(row, 'logical_port')]


def _place_in(address: str, router: model.Router,
              sources: address_sources.Sources
              ) -> tuple[subjects.Kind, model.Nat | None,
                         model.GatewayPort | None]:
    """(kind, NAT row or None, gateway port or None) of an address."""
    port = next((port for port in router.ports
                 for own in map(networks.parse_interface, port.networks)
                 if own and str(own.ip) == address), None)
    nats = sources.nats
    if nats:
        nat = min(nats, key=lambda each: each.type != 'dnat_and_snat')
        kind = subjects.Kind.SNAT if nat.type == 'snat' else (
            subjects.Kind.DISTRIBUTED if nat.distributed_mac
            else subjects.Kind.FIP)
        return kind, nat, networks.owner_of(nat, router.ports)
    if port is not None:
        return subjects.Kind.ROUTER, None, port
    if sources.balanced is not None:
        return subjects.Kind.BALANCER, None, (
            networks.owner(address, router.ports) if router.ports else None)
    return subjects.Kind.NOBODY, None, None


def _claim(nb: columns.Tables, sb: columns.Tables, router: model.Router,
           kind: subjects.Kind, nat: model.Nat | None,
           port: model.GatewayPort | None) -> claims.Claim:
    owner = hostname(sb, port.chassis) if port else ''
    if nat is None:
        return claims.Claim(kind.value, router.both_names, router.name,
                            owner=owner)
    names = [columns.optional(each, 'logical_port')
             for each in _rows_of(router, nb)
             if (each.type, each.external_ip, each.logical_ip) == (
                 nat.type, nat.external_ip, nat.logical_ip)]
    return claims.Claim(kind.value, router.both_names, router.name, nat.type,
                        nat.logical_ip, next(filter(None, names), ''), owner)


def _rows_of(router: model.Router, nb: columns.Tables
             ) -> Sequence[columns.Row]:
    row = next((each for key, each in nb['Logical_Router'].items()
                if str(key) == router.uuid), None)
    return row.nat if row else ()


def _machine(address: str, router: model.Router, nb: columns.Tables,
             sb: columns.Tables) -> subjects.Machine | None:
    own = {row.uuid for row in _rows_of(router, nb)}
    row = min((each for each in floating(address, nb) if each.uuid in own),
              default=None,
              key=lambda each: not columns.optional(each, 'external_mac'))
    if row is None:
        return None
    port = columns.optional(row, 'logical_port')
    chassis = next((rows.chassis_name(binding)
                    for binding in sb['Port_Binding'].values()
                    if binding.logical_port == port), '')
    return subjects.Machine(
        str(row.uuid), columns.optional(row, 'external_mac') or '', port,
        hostname(sb, chassis), chassis)


def hostname(sb: columns.Tables, chassis: str) -> str:
    """The host name of a chassis, its name if it is gone."""
    return directory.hostnames(sb).get(chassis) or chassis
