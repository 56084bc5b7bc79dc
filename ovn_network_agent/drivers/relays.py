# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.


"""Relays between the provider bridges of gateways that share a group.

Pure functions.  OVN takes packets for a router only on the chassis that has
its gateway port.  So what arrives for an address whose port is about to leave,
or has left, goes to OVN here and through the relay to OVN there: the one that
has the port takes it, the other drops it.  Nothing has to be switched at the
moment of the move, which nobody knows.
"""

from ovn_network_agent import model
from ovn_network_agent import networks
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.drivers import targets


def ports(group, node, bridge):
    """A tunnel port to each other candidate.

    That of one whose chassis has gone stays: its ovn-controller may have
    ended in good order, and its agent relays what it still attracts.

    :param group: :class:`model.GatewayGroup`
    :param node: :class:`model.Node`
    :param bridge: the provider bridge
    :returns: iterable of :class:`resources.RelayPort` and, where SB does
        not say any more which one that is, of :class:`resources.Keep`
    """
    for candidate in group.peers(node.chassis):
        if candidate.address:
            yield resources.RelayPort(
                bridge, ownership.relay_name(candidate.address),
                candidate.address, candidate.encap)
    for relay in _of_the_gone(group, node, bridge):
        yield resources.Keep(resources.Ref(
            resources.RelayPort.kind,
            (bridge, ownership.relay_name(relay.address))))


def _of_the_gone(group, node, bridge):
    """Relays that may lead to a candidate whose chassis SB has no more.

    :returns: list of :class:`model.Relay`
    """
    if node.phase is model.Phase.STOPPED or all(
            c.known for c in group.candidates if c.chassis != node.chassis):
        return []
    known = {c.address for c in group.peers(node.chassis)}
    return [relay for relay in node.relays
            if relay.bridge == bridge and relay.address not in known]


def arriving(group, node, bridge):
    """Flows that hand what comes out of relays to OVN.

    They attract nothing, and are there before anything is sent.

    :returns: iterable of :class:`resources.Flow`
    """
    addresses = {c.address for c in group.peers(node.chassis)}
    relays = [relay for relay in node.relays
              if relay.bridge == bridge and relay.address in addresses]
    relays += _of_the_gone(group, node, bridge)
    for port in group.ports:
        segment = port.segment
        if segment is None or segment.bridge != bridge or (
                not segment.patch_port):
            continue
        for network in networks.provider_networks(port.networks):
            for relay in relays:
                yield resources.Flow(
                    bridge, ownership.COOKIE_RELAY, ownership.PRIORITY_RELAY,
                    relay.port, 4, dst=str(network),
                    output=f'ports:{segment.patch_port:d}')


def leaving(router, port, nets, bridge):
    """What sends the packets of a port to both gateways.

    :param router: :class:`model.Router`
    :param port: a port of it with a relay
    :param nets: IPv4 provider networks
    :returns: iterable of :class:`resources.Resource`
    """
    if port.segment is None or port.segment.device != bridge:
        return
    # The relay first: as long as OVN here takes the packet, the datapath
    # translates its destination in place (NAT), also for whoever is next.
    output = 'ports:' + ','.join(str(number) for number in (
        port.relay, port.segment.patch_port) if number)
    for target in targets.port_targets(router, port, nets):
        if networks.family(target.address) != 4:
            continue
        yield resources.Flow(
            bridge, ownership.COOKIE_RELAY, ownership.PRIORITY_RELAY,
            resources.LOCAL, 4, dst=networks.host_prefix(target.address),
            set_dst=target.mac, output=output)
        if port.handover is not model.Handover.NONE:
            # OVN here does not answer for it any longer.
            yield resources.Neighbour(bridge, target.address, '',
                                      lladdr=target.mac)
