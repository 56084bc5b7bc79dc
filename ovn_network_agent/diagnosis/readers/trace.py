# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The way of packets of one address through OVN and Open vSwitch.

Both tools only simulate a packet.  ovn-trace reads the whole Southbound
database, so nobody gets a trace who has not asked for one.
"""

from collections.abc import Callable
import dataclasses
import re
import typing

from oslo_config import cfg

from ovn_network_agent.common import networks
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import facts
from ovn_network_agent.diagnosis.address import subject as subjects
from ovn_network_agent.diagnosis.readers import packets

_TIMEOUT = 30


class _Words(typing.NamedTuple):
    """The fields of ovn-trace for a family."""

    ip: str  # prefix of the fields of the addresses
    icmp: str  # prefix of the field of the type
    question: int


_WORDS = {4: _Words('ip4', 'icmp4', 8), 6: _Words('ip6', 'icmp6', 128)}
_OUTPUT = re.compile(r'/\* output to "([^"]*)", type "([^"]*)" \*/')


@dataclasses.dataclass(frozen=True, slots=True)
class Traced:
    """A traced packet."""

    title: str  # the tool and the direction
    verdict: str  # what becomes of the packet, one line
    text: str  # the whole answer of the tool


def read(conf: cfg.ConfigOpts, known: facts.Setup, about: subjects.Subject
         ) -> tuple[Traced, ...]:
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
        why = f'not traced: {readers.reason(error)}'
        return Traced(title, why, why)


def _switch(conf: cfg.ConfigOpts, known: facts.Setup, about: subjects.Subject,
            way: int) -> tuple[str, str]:
    """(verdict, text) of a packet to the address, way 0, or from it, way 1."""
    listed = packets.ports(conf)
    segment, end = packets.met(about, listed)
    packet = packets.both_ways('icmp', about.address, known.client, segment,
                               about.mac, end.port)[way]
    text = packets.trace(conf, segment.bridge, packet.flow)
    trace = packets.PacketTrace(packet, segment.bridge, segment.patch_port,
                                packets.parsed(text), listed, end.name)
    return describe(trace), text


def describe(traced: packets.PacketTrace) -> str:
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


def _logical(conf: cfg.ConfigOpts, known: facts.Setup, about: subjects.Subject
             ) -> tuple[str, str]:
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
                        '--summary', segment.datapath, flow], _TIMEOUT)
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
