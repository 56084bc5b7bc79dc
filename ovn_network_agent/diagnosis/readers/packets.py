# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The way of packets of one address through OVN and Open vSwitch."""

from collections.abc import Callable
from collections.abc import Iterable
import glob
import os
import re
import typing

from oslo_config import cfg

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.common import wording
from ovn_network_agent.control.socket import client
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import subject as subjects
from ovn_network_agent.model import evpn_names
from ovn_network_agent.openflow import trace_text

if typing.TYPE_CHECKING:
    from ovn_network_agent.diagnosis.address import facts

#: seconds for one question
TIMEOUT = 2.0
#: the port of a bridge that is its own device
LOCAL = 'LOCAL'
_PROTOCOLS = ('icmp', 'tcp', 'udp')
_BROADCAST = 'ff:ff:ff:ff:ff:ff'
_TRACE_TIMEOUT = 30


class _Family(typing.NamedTuple):
    """The notation of ovs-ofctl for packets of a family."""

    protocols: dict[str, str]  # words by protocol
    kind: str  # field of the type of ICMP
    echo: tuple[int, int]  # types of an ICMP question and of its answer
    source: str  # field of the source, and of the destination
    destination: str


_FAMILIES = {
    4: _Family({name: name for name in _PROTOCOLS}, 'icmp_type', (8, 0),
               'nw_src', 'nw_dst'),
    6: _Family({'icmp': 'icmp6', 'tcp': 'tcp6', 'udp': 'udp6'},
               'icmpv6_type', (128, 129), 'ipv6_src', 'ipv6_dst')}
# Neighbour solicitation and advertisement, and their hop limit (RFC 4861,
# sections 4.3 and 4.4).
_SOLICITATION, _ADVERTISEMENT, _ON_LINK = 135, 136, 255
# The multicast group of a solicitation has the last 24 bits of the address,
# and its MAC the last 32 bits of the group (RFC 4291, section 2.7.1; RFC 2464,
# section 7).
_SOLICITED = ip_text.address('ff02::1:ff00:0')
_LAST_BITS = 0xffffff


class Packet(typing.NamedTuple):
    """A packet between the kernel and OVN."""

    name: str  # such as 'ICMP to 198.51.100.10'
    flow: str  # the packet in the notation of ovs-ofctl
    inward: bool  # whether the packet is for OVN, and not for the kernel


class PacketTrace(typing.NamedTuple):
    """A packet on its way through the bridges."""

    packet: Packet
    bridge: str
    port: int  # OpenFlow number of its patch port to OVN
    trace: trace_text.Trace
    ports: tuple[trace_text.Port, ...]
    # Name of the port that leads to the kernel, '' for the bridge's own.
    end: str = ''

    @property
    def arrives(self) -> bool:
        """Whether OVN, or the kernel, gets the packet from the bridge."""
        if self.packet.inward:
            patch = next((each for each in self.ports if
                          (each.bridge, each.number) ==
                          (self.bridge, self.port)), None)
            return patch is not None and any(
                each.bridge in self.trace.bridges for each in self.ports
                if each.name == patch.peer)
        return any(each.bridge == self.bridge and (
            each.name == self.end if self.end else each.is_local) and
                   each.datapath in self.trace.outputs
                   for each in self.ports)

    @property
    def steps(self) -> tuple[trace_text.Step, ...]:
        """The tables of the provider bridge that the packet crosses."""
        return self.trace.steps_in(self.bridge)

    @property
    def sent(self) -> tuple[str, ...]:
        """Where the packet leaves the bridges."""
        names = {each.datapath: each.name for each in self.ports}
        return tuple(dict.fromkeys(names.get(each, each)
                                   for each in self.trace.outputs))


def for_address(address: str, client_: str, segment: model.Segment, mac: str,
                nexthop: str = '', port: str = LOCAL) -> tuple[Packet, ...]:
    """The packets that tell whether an address works.

    :param client_: address outside, of the same family
    :param segment: with a patch port
    :param mac: MAC of the router port
    :param nexthop: whose MAC that is, '' for the address
    """
    request = {4: _arp, 6: _neighbours}[networks.family(address)]
    found = request(nexthop or address, client_, segment, mac, port)
    for protocol in _PROTOCOLS:
        found += both_ways(protocol, address, client_, segment, mac, port)
    return tuple(found)


def _arp(address: str, client_: str, segment: model.Segment, mac: str,
         port: str) -> list[Packet]:
    """The question for the MAC of an IPv4 address, and the answer."""
    tag = _tag(segment)
    return [Packet(
        f'ARP request for {address}', f'{_from(port, tag)}arp,arp_op=1,'
        f'dl_src={segment.mac},dl_dst={_BROADCAST},arp_sha={segment.mac},'
        f'arp_spa={client_},arp_tpa={address}', True), Packet(
        f'ARP reply of {address}', f'in_port={segment.patch_port},{tag}arp,'
        f'arp_op=2,dl_src={mac},dl_dst={segment.mac},arp_sha={mac},'
        f'arp_tha={segment.mac},arp_spa={address},arp_tpa={client_}', False)]


def _neighbours(address: str, _client: str, segment: model.Segment, mac: str,
                port: str) -> list[Packet]:
    """The same for an IPv6 address, which the device itself asks for."""
    tag, own = _tag(segment), ownership.SEGMENT_LINK_LOCAL
    last = int(ip_text.address(address)) & _LAST_BITS
    group = _SOLICITED + last
    to = f'33:33:ff:{last >> 16:02x}:{last >> 8 & 0xff:02x}:{last & 0xff:02x}'
    common = f'icmpv6_code=0,nw_ttl={_ON_LINK:d},nd_target={address}'
    return [Packet(
        f'neighbour solicitation for {address}', f'{_from(port, tag)}icmp6,'
        f'icmpv6_type={_SOLICITATION:d},{common},dl_src={segment.mac},'
        f'dl_dst={to},ipv6_src={own},ipv6_dst={group},nd_sll={segment.mac}',
        True), Packet(
        f'neighbour advertisement of {address}',
        f'in_port={segment.patch_port},{tag}icmp6,'
        f'icmpv6_type={_ADVERTISEMENT:d},{common},dl_src={mac},'
        f'dl_dst={segment.mac},ipv6_src={address},ipv6_dst={own},'
        f'nd_tll={mac}', False)]


def both_ways(protocol: str, address: str, client_: str,
              segment: model.Segment, mac: str, port: str = LOCAL
              ) -> list[Packet]:
    """A packet of 'icmp', 'tcp' or 'udp' to an address, and one from it."""
    name, tag = protocol.upper(), _tag(segment)
    fields = _FAMILIES[networks.family(address)]
    kind = fields.protocols[protocol]
    question, answer = (f',{fields.kind}={each:d}' if protocol == 'icmp'
                        else '' for each in fields.echo)
    return [Packet(
        f'{name} to {address}', f'{_from(port, tag)}{kind}{question},'
        f'dl_src={segment.mac},dl_dst={mac},{fields.source}={client_},'
        f'{fields.destination}={address},nw_ttl=64', True), Packet(
        f'{name} from {address}', f'in_port={segment.patch_port},'
        f'{tag}{kind}{answer},dl_src={mac},dl_dst={segment.mac},'
        f'{fields.source}={address},{fields.destination}={client_},nw_ttl=63',
        False)]


def _from(port: str, tag: str) -> str:
    """Where the kernel's packets come from; a veth end's port adds the tag."""
    return f'in_port={port},{tag if port == LOCAL else ""}'


def _tag(segment: model.Segment) -> str:
    """The VLAN of a segment's packets, in the notation of ovs-ofctl."""
    return f'dl_vlan={segment.vlan:d},' if segment.vlan else ''


def read(conf: cfg.ConfigOpts, known: 'facts.Setup', about: 'subjects.Subject'
         ) -> tuple[PacketTrace, ...]:
    """Follow the packets of an address whose gateway port is here."""
    if about.segment is None or not about.segment.patch_port or not (
            about.segment.mac or about.end):
        raise readers.Unread('OVN has no patch port on the provider bridge')
    listed = ports(conf)
    segment, end = met(about, listed)
    return tuple(PacketTrace(
        packet, segment.bridge, segment.patch_port,
        parsed(trace(conf, segment.bridge, packet.flow)), listed, end.name)
        for packet in for_address(about.address, known.client, segment,
                                  about.mac, about.nexthop, end.port))


class End(typing.NamedTuple):
    """The port of the provider bridge that leads to the kernel."""

    port: str = LOCAL  # its OpenFlow number
    name: str = ''  # its name, '' for the bridge's own port


def met(about: 'subjects.Subject', listed: Iterable[trace_text.Port]
        ) -> tuple[model.Segment, End]:
    """The segment with the kernel's MAC, and the :class:`End`.

    :raises readers.Unread: when the bridge has no port of the veth pair
    """
    segment = about.segment
    if segment is None:
        raise readers.Unread('the address has no provider segment')
    if about.end is None:
        return segment, End()
    name = evpn_names.bridge_end(about.end.name)
    number = next((each.number for each in listed if (
        each.bridge, each.name) == (segment.bridge, name)), None)
    if number is None:
        raise readers.Unread(f'{segment.bridge} has no port {name}')
    return (segment._replace(mac=about.end.mac),
            End(f'{number:d}', name))


def ports(conf: cfg.ConfigOpts) -> tuple[trace_text.Port, ...]:
    """The ports of all bridges."""
    return trace_text.ports(ask(conf, 'dpif/show', []))


def trace(conf: cfg.ConfigOpts, bridge: str, flow: str) -> str:
    """The text of ofproto/trace for a packet in the notation of ovs-ofctl."""
    return ask(conf, 'ofproto/trace', [bridge, flow])


def parsed(text: str) -> trace_text.Trace:
    """The :class:`trace_text.Trace` of a text; Unread for other text."""
    try:
        return trace_text.parse(text)
    except ValueError as error:
        raise readers.Unread(f'ovs-vswitchd: {error}') from error


def ask(conf: cfg.ConfigOpts, command: str, argv: list[str]) -> str:
    """Ask ovs-vswitchd over its own socket; a crash leaves old ones behind."""
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


class _Words(typing.NamedTuple):
    """The fields of ovn-trace for a family."""

    ip: str  # prefix of the fields of the addresses
    icmp: str  # prefix of the field of the type
    question: int


_WORDS = {4: _Words('ip4', 'icmp4', 8), 6: _Words('ip6', 'icmp6', 128)}
_OUTPUT = re.compile(r'/\* output to "([^"]*)", type "([^"]*)" \*/')


class Traced(typing.NamedTuple):
    """A traced packet."""

    title: str  # the tool and the direction
    verdict: str  # what becomes of the packet, one line
    text: str  # the whole answer of the tool


def read_traces(conf: cfg.ConfigOpts, known: 'facts.Setup',
                about: subjects.Subject) -> tuple[Traced, ...]:
    """The traces of an address whose gateway port is here."""
    if about.vip is not None:
        why = ('there is no trace of a VIP: nftables of this node translates '
               'its packets')
        return (Traced('VIP', why, why),)
    if not about.here or not about.segment:
        return ()
    return tuple(_attempt(title, function, conf, known, about, *arguments)
                 for title, function, *arguments in (
                     ('Open vSwitch, way in', _switch, 0),
                     ('OVN, way in', _logical),
                     ('Open vSwitch, way back', _switch, 1)))


def _attempt(title: str, function: Callable[..., tuple[str, str]],
             *arguments: typing.Any) -> Traced:
    try:
        return Traced(title, *function(*arguments))
    except (readers.Unread, OSError) as error:
        why = f'not traced: {wording.error(error)}'
        return Traced(title, why, why)


def _switch(conf: cfg.ConfigOpts, known: 'facts.Setup',
            about: subjects.Subject, way: int) -> tuple[str, str]:
    """(verdict, text) of a packet to the address, way 0, or from it, way 1."""
    listed = ports(conf)
    segment, end = met(about, listed)
    packet = both_ways('icmp', about.address, known.client, segment,
                       about.mac, end.port)[way]
    text = trace(conf, segment.bridge, packet.flow)
    return describe(PacketTrace(
        packet, segment.bridge, segment.patch_port, parsed(text), listed,
        end.name)), text


def describe(traced: PacketTrace) -> str:
    """What becomes of a packet in Open vSwitch, in words."""
    where = ('OVN' if traced.packet.inward else
             f'the kernel through {traced.end or traced.bridge}')
    got = f'{"reaches" if traced.arrives else "does not reach"} {where}'
    sent = ', '.join(traced.sent)
    last = traced.trace.steps[-1] if traced.trace.steps else None
    if last is None:
        end = 'crosses no table'
    elif sent and traced.packet.inward and traced.arrives:
        # OVN sends a packet into a tunnel, and drops what goes on locally.
        by = next((each for each in reversed(traced.trace.steps)
                   if each.sends), last)
        end = f'sent to {sent} by: {by.text()}'
    elif last.drops:
        end = f'dropped by: {last.text()}' + (
            f'; also sent to {sent}' if sent else '')
    elif sent:
        end = f'sent to {sent} by: {last.text()}'
    elif traced.packet.inward and traced.arrives:
        # OVN may hand the packet to ovn-controller, for example.
        end = ('the simulation ends in OVN, without a drop; the last flow: '
               f'{last.text()}')
    else:
        end = f'sent nowhere; the last flow: {last.text()}'
    return f'{traced.packet.name} {got}; {end}'


def _logical(conf: cfg.ConfigOpts, known: 'facts.Setup',
             about: subjects.Subject) -> tuple[str, str]:
    """(verdict, text) of a packet from the provider network, in OVN."""
    from ovn_network_agent.privileged.daemon import command
    segment = subjects.certain(about.segment)
    fields = _WORDS[networks.family(about.address)]
    remotes = ','.join(conf.ovn.ovn_sb_remote)
    flow = (f'inport == "{segment.localnet_port}" && '
            f'eth.src == {about.end.mac if about.end else segment.mac} && '
            f'eth.dst == {about.mac} && '
            f'{fields.ip}.src == {known.client} && '
            f'{fields.ip}.dst == {about.address} && '
            f'ip.ttl == 64 && {fields.icmp}.type == {fields.question:d}')
    done = command.run(['ovn-trace', f'--db={remotes}', *_files(conf),
                        '--summary', segment.datapath, flow], _TRACE_TIMEOUT)
    if done.status:
        raise readers.Unread(f'ovn-trace: {done.messages}')
    return (logical_verdict(f'ICMP to {about.address}', done.stdout),
            done.stdout)


def logical_verdict(name: str, text: str) -> str:
    """The fate of a packet in OVN, from "ovn-trace --summary", in words."""
    outputs = [f'"{port}"' + (f' ({kind})' if kind else '')
               for port, kind in _OUTPUT.findall(text)]
    if outputs:
        return (f'{name} reaches the port '
                f'{", ".join(dict.fromkeys(outputs))}')
    last = next((line.strip() for line in reversed(text.splitlines())
                 if line.strip(' };\t')), 'nothing')
    return f'{name} reaches no port; the last action: {last}'


def _files(conf: cfg.ConfigOpts) -> list[str]:
    """The arguments for the TLS files of OVN."""
    options = (('--private-key', conf.ovn.ovn_ssl_key),
               ('--certificate', conf.ovn.ovn_ssl_cert),
               ('--ca-cert', conf.ovn.ovn_ssl_ca))
    return [f'{option}={path}' for option, path in options if path]
