# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The checks of egress addresses, and of the probe between their agents."""

from collections.abc import Iterator
import typing

from ovn_network_agent.conf import tls
from ovn_network_agent.conf.options import egress_ip
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.diagnosis.node.ovn import peers
from ovn_network_agent.diagnosis.readers import agent
from ovn_network_agent.engine import ledger
from ovn_network_agent.ovn.egress import egress_routers
from ovn_network_agent.ovs import wiring
from ovn_network_agent.ovsdb import lock_state
from ovn_network_agent.watches import egress_question

_ALL = '"ovn-network-agent-ctl egress" shows all of them'
_OTHER = ('see "ovn-network-agent-ctl egress" on the node of the writer, '
          'the one with ovn_network_agent_lock_state{state="held"}: it has '
          'another file, or it hangs')
_SILENT_HERE = (
    'if the agent runs, "ovn-network-agent-ctl status" says why it does not '
    'listen, and "ss -ltnp" who has the port; with TLS, the certificate in '
    '[ovn] ovn_ssl_cert has to be of an authority in ovn_ssl_ca')
_SILENT_THERE = (
    'see whether the agent runs there ("ovn-network-agent-ctl doctor" on that '
    'node), has the same probe_port and files of TLS, and whether a firewall '
    'drops the port')


def read_egress(sources: sources.Sources) -> agent.Answer:
    """Ask the agent for the egress addresses; see :func:`peers.ask`."""
    return peers.ask(sources, egress_ip.GROUP, 'egress')


def judge_egress(found: agent.Answer) -> Iterator[check.Result]:
    """Objects and places without an address, rows and parts of the node."""
    objects, writer, good = found['egress_ips'], found['lock'], True
    wrong = [f'{one["name"]}: {why}' for one in objects
             for why in (one['why'], *one['problems']) if why]
    wrong += [f'{one["name"]} at router {place["router_name"]}: '
              f'{place["why"]}' for one in objects for place in one['places']
              if not place['address']]
    if wrong:
        good = False
        yield check.warn('machines that do not leave with their egress '
                         f'address: {check.named(wrong)}', _ALL)
    away = [f'{one["name"]} at router {place["router_name"]}: '
            f'{place["rows"]} ({place["rows_why"]})'
            for one in objects for place in one['places']
            if place['address'] and
            place['rows'] != ledger.State.IN_PLACE.value]
    if away:
        good = False
        yield check.warn(
            f'rows that are not in place: {check.named(away)}',
            _OTHER if writer == lock_state.State.WAITING.value else _ALL)
    if found['node']:
        good = False
        yield check.warn('what this node needs to translate is not in place: '
                         + check.named([f'{row["kind"]} {row["ref"]} '
                                        f'({row["state"]}) {row["reason"]}'
                                        for row in found['node']]), _ALL)
    if writer == lock_state.State.NOT_CONNECTED.value:
        good = False
        yield check.warn(lock_state.WRITERS[writer], peers.ASK_FOR_LOCK)
    if good:
        machines = sum(not each['why'] for one in objects
                       for each in one['machines'])
        yield check.ok(f'{len(objects):d} objects, {machines:d} addresses of '
                       f'machines leave; {lock_state.WRITERS[writer]}')


class Probes(typing.NamedTuple):
    """What agents have answered to this node."""

    own: egress_question.Answer  # of the agent of this node
    # By chassis that can have egress addresses: Answer.
    others: dict[str, egress_question.Answer]


def read_probes(sources: sources.Sources) -> Probes:
    """Ask the agents once, as the writer does; NotChecked where none asks."""
    conf = sources.conf
    if not egress_ip.probes(conf):
        raise check.NotChecked('[DEFAULT] drivers has no egress_ip, or '
                               '[egress_ip] probe_port is 0')
    own = sources.snapshot().node.chassis
    with sources.database('ovs').rows() as ovs:
        addresses = wiring.addresses(ovs)
    with (sources.database('nb').rows() as nb,
          sources.database('sb').rows() as sb):
        targets = egress_routers.targets(nb, sb)
    files = tls.between_agents(conf)
    try:
        context = files.context() if files else None
    except tls.BadFile as error:
        raise check.NotChecked(str(error)) from None
    found = egress_question.ask({**targets, own: addresses},
                                conf.egress_ip.probe_port, context)
    return Probes(found.pop(own), found)


def judge_probes(found: Probes) -> Iterator[check.Result]:
    """An agent without an answer is broken here, and a warning elsewhere."""
    dead = [f'{chassis} ({each.why})'
            for chassis, each in sorted(found.others.items()) if each.why]
    if found.own.why:
        yield check.broken('the agent of this node does not answer other '
                           f'agents: {found.own.why}', _SILENT_HERE)
    if dead:
        yield check.warn('agents that do not answer, so that their nodes get '
                         f'no new egress address: {check.named(dead)}',
                         _SILENT_THERE)
    if not (found.own.why or dead):
        yield check.ok('the agents of this node, and of '
                       f'{len(found.others):d} others, answer')


CHECKS = (
    check.Check(
        'egress', 'OVN', 'with the driver egress_ip and a running agent: each '
        'router or node that needs an egress address has one, its rows are in '
        'place, and what this node translates, too', read_egress,
        judge_egress, ('agent',)),
    check.Check(
        'egress-probe', 'OVN', 'with the driver egress_ip and a probe_port: '
        'the agent of this node answers on its tunnel addresses, and so do '
        'the agents of all chassis that can have egress addresses',
        read_probes, judge_probes, ('chassis',)),
)
