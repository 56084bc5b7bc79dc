# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Checks of what is inside OVN: machines, networks of tenants, peerings, and
egress addresses."""

import collections
from collections.abc import Iterator
import typing

from ovn_network_agent.common import bridges
from ovn_network_agent.common import networks
from ovn_network_agent.common import wording
from ovn_network_agent.conf import plugins
from ovn_network_agent.conf import tls
from ovn_network_agent.conf.options import egress_ip
from ovn_network_agent.conf.options import network_peer
from ovn_network_agent.control.socket import client
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.diagnosis.readers import agent
from ovn_network_agent.drivers import tenant_network
from ovn_network_agent.drivers.common import announcing
from ovn_network_agent.drivers.common import segments
from ovn_network_agent.engine import ledger
from ovn_network_agent.ovn.egress import egress_routers
from ovn_network_agent.ovs import wiring
from ovn_network_agent.ovsdb import lock_state
from ovn_network_agent.watches import egress_question

_BAD = ('conflict', 'error')
_ALL = '"ovn-network-agent-ctl peers" shows all of them'
ASK_FOR_LOCK = ('see nb-database: the lock is asked for at the leader of '
                'OVN_Northbound alone')
_OTHER = ('see "ovn-network-agent-ctl peers" on the node of the writer, the '
          'one with ovn_network_agent_lock_state{state="held"}: it has other '
          'intents, such as another peers_file, or it hangs')
_ALL_EGRESS = '"ovn-network-agent-ctl egress" shows all of them'
_OTHER_EGRESS = (
    'see "ovn-network-agent-ctl egress" on the node of the writer, the one '
    'with ovn_network_agent_lock_state{state="held"}: it has another file, or '
    'it hangs')
_SILENT_HERE = (
    'if the agent runs, "ovn-network-agent-ctl status" says why it does not '
    'listen, and "ss -ltnp" who has the port; with TLS, the certificate in '
    '[ovn] ovn_ssl_cert has to be of an authority in ovn_ssl_ca')
_SILENT_THERE = (
    'see whether the agent runs there ("ovn-network-agent-ctl doctor" on that '
    'node), has the same probe_port and files of TLS, and whether a firewall '
    'drops the port')


class Machines(typing.NamedTuple):
    """The addresses of machines here that are announced, or cannot be."""

    announced: int
    # (name, why its addresses cannot be reached).
    networks: tuple[tuple[str, str], ...] = ()
    outside: tuple[str, ...] = ()  # addresses in no subnet
    claimed: tuple[tuple[str, str], ...] = ()  # (address, who else has it)


def read_machines(sources: sources.Sources) -> Machines:
    """Take the machines on this chassis from the view."""
    conf = sources.conf
    if not plugins.requested(conf, plugins.MACHINES):
        raise check.NotChecked('[DEFAULT] drivers has neither '
                               'provider_port nor evpn')
    view, served = sources.snapshot(), bridges.served(conf)
    found = [each for known in view.machines.values()
             for each in known.values() if not each.withheld]
    return Machines(
        sum(1 for _each in announcing.of_machines(conf, view)),
        tuple((each.called, segments.objection(each.segment, served))
              for each in view.networks.values()
              if (each.named or segments.located(each.segment, served)) and
              not segments.usable(each.segment, served)),
        tuple(each.address for each in found
              if not conf.network_cidr and not networks.inside(
                  each.address,
                  announcing.provider_networks(conf, each.network))),
        tuple((each.address, each.claimed) for each in found
              if each.claimed))


def judge_machines(found: Machines) -> Iterator[check.Result]:
    """A network whose machines cannot be reached is broken."""
    for called, why in found.networks:
        yield check.broken(
            f'network {called}: its machines here cannot be reached: {why}',
            'ovn-bridge-mappings, [DEFAULT] bridge_dev and further_bridges '
            'have to name one bridge for the network, and ovn-controller has '
            'to run')
    if found.outside:
        yield check.warn(
            f'{check.named(found.outside)}: in no subnet that OVN has of the '
            'network, and not announced',
            'name all provider networks in [DEFAULT] network_cidr')
    if found.claimed:
        named = [f'{address} ({who})' for address, who in found.claimed]
        yield check.warn(
            f'{check.named(named)}: something else has the address of a '
            'machine here, too, and comes first',
            'give one of them another address')
    if not (found.networks or found.outside or found.claimed):
        yield check.ok(wording.count(
            found.announced, 'address of a machine is',
            'addresses of machines are') + ' here')


class Tenants(typing.NamedTuple):
    """The networks behind routers here."""

    announced: int  # number of prefixes and addresses that nothing withholds
    # By (what is wrong, remedy): texts of networks.
    faults: dict[tuple[str, str], list[str]]


def read_tenants(sources: sources.Sources) -> Tenants:
    """Take the networks of tenants from the view."""
    conf = sources.conf
    if not plugins.requested(conf, plugins.TENANTS):
        raise check.NotChecked('[DEFAULT] drivers has no tenant_network')
    found = [each for known in sources.snapshot().tenants.values()
             for each in known.values() if not each.withheld]
    faults: dict[tuple[str, str], list[str]] = {}
    for each in found:
        wrong = tenant_network.fault(each, networks.inside(
            each.via, announcing.provider_networks(conf, each.port)))
        if wrong:
            faults.setdefault((wrong.text, wrong.remedy), []).append(
                f'{each.prefix} of network {each.network} (router '
                f'{each.called})')
    return Tenants(len(found), faults)


def judge_tenants(found: Tenants) -> Iterator[check.Result]:
    """A network that is not announced, or may not be, is a warning."""
    for (text, remedy), called in found.faults.items():
        yield check.warn(f'{check.named(called)}: {text}', remedy)
    if not found.faults:
        yield check.ok(wording.count(found.announced, 'prefix of a tenant',
                                     'prefixes of tenants') +
                       ' can be announced from here')


def read_peers(sources: sources.Sources) -> agent.Answer:
    """Ask the agent for the peerings; see :func:`ask`."""
    return ask(sources, network_peer.GROUP, 'peers')


def ask(sources: sources.Sources, driver: str, command: str) -> agent.Answer:
    """Ask the agent for what a driver has; NotChecked without the driver."""
    if driver not in sources.conf.drivers:
        raise check.NotChecked(f'[DEFAULT] drivers has no {driver}')
    try:
        return sources.ask(command)
    except client.NotRunning as error:
        raise check.NotChecked(str(error)) from None


def judge_peers(found: agent.Answer) -> Iterator[check.Result]:
    """A peering that is not pending and lacks rows; a lock unanswered."""
    peerings, writer, good = found['peerings'], found['lock'], True
    for state in _BAD:
        wrong = [f'{_called(each)}: {each["why"]}' for each in peerings
                 if each['state'] == state]
        if wrong:
            good = False
            yield check.warn(f'peerings with {state}, which have no rows in '
                             f'OVN: {check.named(wrong)}', _ALL)
    incomplete = [f'{_called(each)}: {each["rows"]} ({each["rows_why"]})'
                  for each in peerings if each['state'] == 'created' and
                  each['rows'] != ledger.State.IN_PLACE.value]
    if incomplete:
        good = False
        yield check.warn(
            'peerings that are created, and whose rows are not in place: '
            f'{check.named(incomplete)}', _OTHER if writer ==
            lock_state.State.WAITING.value else _ALL)
    if writer == lock_state.State.NOT_CONNECTED.value:
        good = False
        yield check.warn(lock_state.WRITERS[writer], ASK_FOR_LOCK)
    if good:
        counts = collections.Counter(each['state'] for each in peerings)
        yield check.ok(f'{counts["created"]:d} created, '
                       f'{counts["pending"]:d} pending; '
                       f'{lock_state.WRITERS[writer]}')


def _called(peering: agent.Answer) -> str:
    return f'{peering["name"]} of router {peering["router_name"]}'


def read_egress(sources: sources.Sources) -> agent.Answer:
    """Ask the agent for the egress addresses; see :func:`ask`."""
    return ask(sources, egress_ip.GROUP, 'egress')


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
                         f'address: {check.named(wrong)}', _ALL_EGRESS)
    incomplete = [f'{one["name"]} at router {place["router_name"]}: '
                  f'{place["rows"]} ({place["rows_why"]})'
                  for one in objects for place in one['places']
                  if place['address'] and
                  place['rows'] != ledger.State.IN_PLACE.value]
    if incomplete:
        good = False
        yield check.warn(
            f'rows that are not in place: {check.named(incomplete)}',
            _OTHER_EGRESS if writer == lock_state.State.WAITING.value
            else _ALL_EGRESS)
    if found['node']:
        good = False
        yield check.warn('what this node needs to translate is not in place: '
                         + check.named([f'{row["kind"]} {row["ref"]} '
                                        f'({row["state"]}) {row["reason"]}'
                                        for row in found['node']]),
                         _ALL_EGRESS)
    if writer == lock_state.State.NOT_CONNECTED.value:
        good = False
        yield check.warn(lock_state.WRITERS[writer], ASK_FOR_LOCK)
    if good:
        machines = sum(not each['why'] for one in objects
                       for each in one['machines'])
        yield check.ok(f'{wording.count(len(objects), "object")} for '
                       f'{wording.count(machines, "address")} of machines; '
                       f'{lock_state.WRITERS[writer]}')


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
                       f'{wording.count(len(found.others), "other")}, answer')


CHECKS = (
    check.Check(
        'provider-machines', 'OVN', 'with the driver provider_port or evpn: '
        'the addresses of machines on provider networks here can be announced',
        read_machines, judge_machines, check.VIEW),
    check.Check(
        'tenant-networks', 'OVN', 'with the driver tenant_network: no network '
        'of a tenant here overlaps with another one',
        read_tenants, judge_tenants, check.VIEW),
    check.Check(
        'peerings', 'OVN', 'with the driver network_peer and a running agent: '
        'no peering is in conflict or has an error, the rows of all others '
        'that are created are in place, and the lock of the writer can be '
        'asked for', read_peers, judge_peers, ('agent',)),
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
