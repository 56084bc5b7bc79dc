# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Relays between the provider bridges of gateways that share a group.  Pure.

OVN accepts packets for a router only on the chassis that has its gateway port.
So while a port leaves, each packet goes to OVN on this chassis and, through
the relay, on the next owner; one of them drops it.  So nothing has to change
at the moment of the move, which is not known.
"""

from collections.abc import Collection
from collections.abc import Iterator

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import networks
from ovn_network_agent.drivers.common import segments


def ports(group: model.GatewayGroup, node: model.Node, bridge: str,
          network: str, count: int
          ) -> Iterator[resources.RelayPort | resources.Keep]:
    """A tunnel port to each candidate that ports may go to, or come from.

    Both ends have to decide the same, so this follows from the rows of OVN
    alone.  The port to a candidate whose chassis SB lacks stays: its
    ovn-controller may have ended in good order, and its agent still relays
    packets.

    :param count: ``[gateway_drain] relay_candidates``
    """
    next_owners, own = group.next_owners(count), group.candidate(node.chassis)
    # Without its row in SB, nobody knows the place of this chassis: its
    # ovn-controller may have ended in good order, and it still relays.
    relays = node.chassis in next_owners or (own is not None and not own.known)
    for candidate in group.peers(node.chassis) if relays else ():
        if candidate.chassis in next_owners and candidate.address:
            yield resources.RelayPort(
                bridge, ownership.relay_name(candidate.address, network),
                candidate.address, candidate.encap,
                ownership.relay_key(network))
    for relay in _to_unknown(group, node, bridge):
        yield resources.Keep(resources.Ref(
            resources.RelayPort.kind,
            (bridge, ownership.relay_name(relay.address, network))))


def network_of(bridge: str, node: model.Node, default: str) -> str:
    """The physical network by which both ends name the relays of a bridge.

    :returns: the first one of the bridge; '' for the default bridge, whose
        relays have to keep their name and tunnel key for agents without
        further bridges
    """
    return '' if bridge == default else next(
        (network for network, mapped in node.bridge_mappings
         if mapped == bridge), '')


def kept(group: model.GatewayGroup, node: model.Node,
         bridge: str) -> Iterator[resources.Keep]:
    """The relays of a group stay while the bridge of a port is unknown."""
    if all(port.segment and port.segment.bridge for port in group.ports):
        return
    for relay in _present(group, node, bridge):
        yield resources.Keep(resources.Ref(
            resources.RelayPort.kind, (bridge, relay.name)))


def _present(group: model.GatewayGroup, node: model.Node,
             bridge: str) -> list[model.Relay]:
    addresses = {c.address for c in group.peers(node.chassis)}
    return [relay for relay in node.relays
            if relay.bridge == bridge and relay.address in addresses]


def _to_unknown(group: model.GatewayGroup, node: model.Node,
                bridge: str) -> list[model.Relay]:
    if node.phase is model.Phase.STOPPED or all(
            c.known for c in group.candidates if c.chassis != node.chassis):
        return []
    present = _present(group, node, bridge)
    return [relay for relay in node.relays
            if relay.bridge == bridge and relay not in present]


def arriving(group: model.GatewayGroup, node: model.Node,
             bridge: str) -> Iterator[resources.Flow]:
    """Flows that send packets from relays to OVN.

    They attract no packets, so they are made in advance.
    """
    relays = [*_present(group, node, bridge),
              *_to_unknown(group, node, bridge)]
    for port in group.ports:
        segment = port.segment
        # Relayed packets of a VNI would not tell its addresses from others.
        if port.vni or segment is None or segment.bridge != bridge or (
                not segment.patch_port):
            continue
        for dst in (*map(str, networks.provider_networks(port.networks)),
                    *port.routed, *port.balanced):
            for relay in relays:
                yield resources.Flow(
                    bridge, ownership.COOKIE_RELAY, ownership.PRIORITY_RELAY,
                    relay.port, networks.family_of_valid(dst), dst=dst,
                    output=f'ports:{segment.patch_port:d}')


def leaving(served: model.ServedAddress, bridges: Collection[str]
            ) -> Iterator[resources.Flow | resources.Neighbour]:
    """What sends to both chassis, for an announced address with a relay."""
    return to_both(served.port, networks.host_prefix(served.address),
                   served.mac, served.address, bridges)


def to_both(port: model.GatewayPort, dst: str, mac: str, nexthop: str,
            bridges: Collection[str]
            ) -> Iterator[resources.Flow | resources.Neighbour]:
    """What sends the packets of a prefix to both chassis.

    :param dst: announced, of a port with a relay
    :param mac: that OVN answers with for the next hop, which is on the segment
    """
    segment = port.segment
    if not segments.located(segment, bridges):
        return
    # The relay first: as long as OVN here takes the packet, the datapath
    # translates its destination in place (NAT), also for the next output.
    output = 'ports:' + ','.join(str(number) for number in (
        port.relay, segment.patch_port) if number)
    yield resources.Flow(
        segment.bridge, ownership.COOKIE_RELAY,
        ownership.PRIORITY_RELAY, resources.LOCAL,
        networks.family_of_valid(dst), dst=dst, set_dst=mac, output=output)
    if port.handover is not model.Handover.NONE:
        # OVN here does not answer for it any longer.
        yield resources.Neighbour(
            segment.device, nexthop, '', lladdr=mac,
            requires=segments.prerequisites(segment))
