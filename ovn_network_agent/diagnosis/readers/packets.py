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

"""The way of packets of one address through Open vSwitch.

ovs-vswitchd is asked over its control socket, and simulates each packet
(ofproto/trace).  A simulated packet changes no flow, no counter and no MAC
table.  Each simulation looks one packet up, so that the number of flows does
not matter.
"""

import dataclasses
import glob
import os

from ovn_network_agent.control import client
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.openflow import trace_text

#: seconds for one question
TIMEOUT = 2.0
_PROTOCOLS = ('icmp', 'tcp', 'udp')
_BROADCAST = 'ff:ff:ff:ff:ff:ff'


@dataclasses.dataclass(frozen=True, slots=True)
class Packet:
    """A packet between the kernel and OVN.

    :ivar name: such as 'ICMP to 198.51.100.10'
    :ivar flow: the packet in the notation of ovs-ofctl
    :ivar inward: whether the packet is for OVN, and not for the kernel
    """

    name: str
    flow: str
    inward: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Journey:
    """A packet on its way through the bridges.

    :ivar packet: :class:`Packet`
    :ivar bridge: name of the provider bridge
    :ivar port: OpenFlow number of its patch port to OVN
    :ivar trace: :class:`openflow.trace_text.Trace`
    :ivar ports: tuple of :class:`openflow.trace_text.Port`
    """

    packet: Packet
    bridge: str
    port: int
    trace: trace_text.Trace
    ports: tuple

    @property
    def arrives(self):
        """Whether OVN, or the kernel, gets the packet from the bridge."""
        if self.packet.inward:
            patch = next((each for each in self.ports if
                          (each.bridge, each.number) ==
                          (self.bridge, self.port)), None)
            return patch is not None and any(
                each.bridge in self.trace.bridges for each in self.ports
                if each.name == patch.peer)
        return any(each.bridge == self.bridge and each.is_local and
                   each.datapath in self.trace.outputs
                   for each in self.ports)

    @property
    def steps(self):
        """The tables of the provider bridge that the packet crosses."""
        return self.trace.steps_in(self.bridge)

    @property
    def sent(self):
        """Where the packet leaves the bridges, a tuple of texts."""
        names = {each.datapath: each.name for each in self.ports}
        return tuple(dict.fromkeys(names.get(each, each)
                                   for each in self.trace.outputs))


def for_address(address, client_, segment, mac):
    """The packets that tell whether an address works.

    :param address: IPv4 address
    :param client_: address outside
    :param segment: :class:`model.Segment` with a patch port
    :param mac: MAC of the router port
    :returns: tuple of :class:`Packet`
    """
    tag = _tag(segment)
    found = [Packet(
        f'ARP request for {address}', f'in_port=LOCAL,{tag}arp,arp_op=1,'
        f'dl_src={segment.mac},dl_dst={_BROADCAST},arp_sha={segment.mac},'
        f'arp_spa={client_},arp_tpa={address}', True), Packet(
        f'ARP reply of {address}', f'in_port={segment.patch_port},{tag}arp,'
        f'arp_op=2,dl_src={mac},dl_dst={segment.mac},arp_sha={mac},'
        f'arp_tha={segment.mac},arp_spa={address},arp_tpa={client_}', False)]
    for protocol in _PROTOCOLS:
        found += both_ways(protocol, address, client_, segment, mac)
    return tuple(found)


def both_ways(protocol, address, client_, segment, mac):
    """A packet to an address, and one from the address.

    :param protocol: 'icmp', 'tcp' or 'udp'
    :returns: list of two :class:`Packet`
    """
    name, tag = protocol.upper(), _tag(segment)
    question, answer = (',icmp_type=8', ',icmp_type=0') if (
        protocol == 'icmp') else ('', '')
    return [Packet(
        f'{name} to {address}', f'in_port=LOCAL,{tag}{protocol}{question},'
        f'dl_src={segment.mac},dl_dst={mac},nw_src={client_},'
        f'nw_dst={address},nw_ttl=64', True), Packet(
        f'{name} from {address}', f'in_port={segment.patch_port},'
        f'{tag}{protocol}{answer},dl_src={mac},dl_dst={segment.mac},'
        f'nw_src={address},nw_dst={client_},nw_ttl=63', False)]


def _tag(segment):
    """The VLAN of a segment's packets, in the notation of ovs-ofctl."""
    return f'dl_vlan={segment.vlan:d},' if segment.vlan else ''


def read(conf, known, about):
    """Follow the packets of an address whose gateway port is here.

    :param conf: the oslo.config ConfigOpts
    :param known: :class:`facts.Setup`
    :param about: :class:`subject.Subject`
    :returns: tuple of :class:`Journey`
    :raises readers.Unread: when ovs-vswitchd does not answer
    """
    segment = about.port.segment
    if segment is None or not segment.patch_port or not segment.mac:
        raise readers.Unread('OVN has no patch port on the provider bridge')
    listed = ports(conf)
    return tuple(Journey(
        packet, segment.bridge, segment.patch_port,
        parsed(trace(conf, segment.bridge, packet.flow)), listed)
        for packet in for_address(about.address, known.client, segment,
                                  about.mac))


def ports(conf):
    """The ports of all bridges, a tuple of :class:`trace_text.Port`.

    :param conf: the oslo.config ConfigOpts
    :raises readers.Unread: when ovs-vswitchd does not answer
    """
    return trace_text.ports(ask(conf, 'dpif/show', []))


def trace(conf, bridge, flow):
    """The text of ofproto/trace.

    :param conf: the oslo.config ConfigOpts
    :param bridge: name of the bridge
    :param flow: the packet, in the notation of ovs-ofctl
    :raises readers.Unread: when ovs-vswitchd does not answer
    """
    return ask(conf, 'ofproto/trace', [bridge, flow])


def parsed(text):
    """The :class:`trace_text.Trace` of a text.

    :raises readers.Unread: when the text is something else
    """
    try:
        return trace_text.parse(text)
    except ValueError as error:
        raise readers.Unread(f'ovs-vswitchd: {error}') from error


def ask(conf, command, argv):
    """Ask ovs-vswitchd over its own control socket.

    A crash leaves the socket of a former process behind.

    :param conf: the oslo.config ConfigOpts
    :param command: name of the command
    :param argv: its arguments
    :returns: text
    :raises readers.Unread: without an answer
    """
    why = ('there is no control socket of ovs-vswitchd in '
           f'{conf.ovs.ovs_rundir}')
    for path in glob.glob(os.path.join(glob.escape(conf.ovs.ovs_rundir),
                                       'ovs-vswitchd.*.ctl')):
        try:
            return client.call(path, command, argv, TIMEOUT)
        except client.NotRunning:
            why = f'nobody listens on {path}; ovs-vswitchd does not run'
        except (client.NoAgent, client.Refused) as error:
            raise readers.Unread(f'ovs-vswitchd: {error}') from error
    raise readers.Unread(why)
