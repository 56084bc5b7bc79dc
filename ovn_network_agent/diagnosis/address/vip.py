# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Judges of a VIP, whose ports are forwarded to destinations.  Pure."""

import collections
from collections.abc import Mapping

from ovn_network_agent import diagnosis
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import networks
from ovn_network_agent.common import wording
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import bgp
from ovn_network_agent.diagnosis.address import facts
from ovn_network_agent.diagnosis.address import forwarding
from ovn_network_agent.diagnosis.address import kernel
from ovn_network_agent.diagnosis.address import ovn
from ovn_network_agent.diagnosis.address import subject as subjects
from ovn_network_agent.diagnosis.address import verdicts
from ovn_network_agent.diagnosis.readers import agent
from ovn_network_agent.diagnosis.readers import kernel as kernels

# The most destinations that one finding names.
_NAMED = 5


def judge(facts: facts.Facts) -> list[diagnosis.Finding]:
    """The findings of a VIP, in the order of the path."""
    found = [ovn.agent(facts), _vip(facts), _backends(facts)]
    checks = {'vip-address': _address}
    if facts.setup.pair:
        checks |= {'veth-pair': kernel.pair, 'policy-rules': kernel.rules,
                   'leak-table': kernel.leak_table}
    found += [verdicts.unread(check, facts.kernel) or function(facts)
              for check, function in checks.items()]
    found.append(verdicts.unread('nft-rules', facts.translation) or
                 _rules(facts))
    found.append(kernel.judge_filters(facts))
    if facts.announces:
        found += bgp.judge(facts)
    return found if facts.subject.silent else found + _ways(facts)


def _ways(facts: facts.Facts) -> list[diagnosis.Finding]:
    client, address = facts.setup.client, facts.subject.address
    checks = {'way-back': _back}
    if facts.setup.vrf:
        checks['vrf-default'] = _out_of_vrf
    if networks.family(client) != networks.family(address):
        return [verdicts.unchecked(
            check, f'{client} is no client of {address}: name one with '
            '--client') for check in checks]
    return [verdicts.unread(check, facts.kernel) or function(facts)
            for check, function in checks.items()]


def _back(facts: facts.Facts) -> diagnosis.Finding:
    found, setup = facts.kernel.lookups['marked'], facts.setup
    wanted = ownership.VETH_DEFAULT if setup.vrf else ''
    if found.error or (wanted and found.dev != wanted):
        mark = f' mark {ownership.MARK_REPLY:#x}' if setup.vrf else ''
        return verdicts.broken(
            'way-back', f'answers of the destinations to {setup.client}: '
            f'{found.text()}{", and not to " + wanted if wanted else ""}',
            'look for a rule or route of another program: '
            f'"{verdicts.IP[facts.version]} rule", "ip route get '
            f'{setup.client}{mark}"')
    return verdicts.ok('way-back', f'answers of the destinations to '
                                   f'{setup.client}: {found.text()}')


def _out_of_vrf(facts: facts.Facts) -> diagnosis.Finding:
    """The finding about the way of an answer from the VRF to the fabric."""
    finding, setup = forwarding.out_of_vrf(facts), facts.setup
    found = facts.kernel.lookups.get('out vrf')
    if (finding.verdict is not verdicts.Verdict.BROKEN or found is None or
            found.error or found.dev == ownership.VETH_PROVIDER):
        return finding
    # The way leads past the table of the VRF.
    return verdicts.broken(
        'vrf-default', f'{setup.vrf} does not decide about {setup.client}: '
        f'{found.text()}', 'look for a rule or route of another program: '
        f'"{verdicts.IP[facts.version]} rule", "ip route get {setup.client} '
        f'from {facts.subject.address} '
        f'iif {ownership.VETH_PROVIDER}"')


def _answer(facts: facts.Facts) -> agent.Answer | None:
    if isinstance(facts.agent, readers.Unread):
        return None
    return next((each for each in facts.agent.get('vips', ())
                 if each['address'] == facts.subject.address), None)


def _vip(facts: facts.Facts) -> diagnosis.Finding:
    subject, answer = facts.subject, _answer(facts)
    vip = subjects.certain(subject.vip)
    kind = 'managed' if vip.managed else (
        'its address is there already' if vip.present
        else 'announced by a route')
    text = f'{wording.count(len(vip.rules), "rule")}, {kind}'
    if subject.problems:
        return verdicts.problem('vip', subject.problems[0])
    if answer is None:
        return verdicts.ok('vip', text)
    state = ': '.join(filter(None, (answer['state'], answer['reason'])))
    if answer['state'] == 'refused':
        return verdicts.broken('vip', state, 'remove what the reason names')
    if answer['state'] in ('dormant', 'waiting'):
        return verdicts.warn(
            'vip', f'{text}; {state}', 'another node has to announce it; '
            'or set [port_forward] vip_announce to always')
    return verdicts.ok('vip', f'{text}; {state}')


def _backends(facts: facts.Facts) -> diagnosis.Finding:
    vip = subjects.certain(facts.subject.vip)
    dead = [f'{each.address} ({each.why})' if each.why else each.address
            for rule in vip.rules for each in rule.destinations
            if not each.alive]
    if vip.dead:
        return verdicts.broken(
            'backends', f'none is alive: {", ".join(dead)}; so the VIP is '
            'withdrawn', 'start the destinations, or correct their checks')
    if dead:
        return verdicts.warn('backends', f'not alive: {", ".join(dead)}',
                             'start them, or correct their checks')
    if isinstance(facts.agent, readers.Unread) and any(
            rule.check for rule in vip.rules):
        return verdicts.unchecked('backends', 'only the agent knows their '
                                              f'health: {facts.agent}')
    return verdicts.ok('backends', ', '.join(
        f'{rule.proto}/{rule.port} to ' + ' '.join(
            each.address for each in rule.usable) for rule in vip.rules))


def _address(facts: facts.Facts) -> diagnosis.Finding:
    subject, setup = facts.subject, facts.setup
    wanted = subject.wanted_of(resources.VipAddress)
    if not wanted:
        return verdicts.unchecked('vip-address', 'the agent gives the VIP to '
                                                 'no device')
    link = facts.kernel.links.get(setup.vip_device)
    if link is None or not link.up:
        return verdicts.broken(
            'vip-address', f'{setup.vip_device} is '
            f'{"down" if link else "missing"}',
            f'"ip link set {setup.vip_device} up"' if link else
            f'"ip link add {setup.vip_device} type dummy", and "ip link set '
            f'{setup.vip_device} up"')
    if wanted[0].address not in facts.kernel.addresses[setup.vip_device]:
        return verdicts.broken(
            'vip-address', f'{setup.vip_device} has no address '
            f'{wanted[0].address}', verdicts.RESTORE)
    return verdicts.ok('vip-address',
                       f'{wanted[0].address} on {setup.vip_device}')


def _rules(facts: facts.Facts) -> diagnosis.Finding:
    """The finding about the table of nftables."""
    found, wanted = facts.translation, facts.subject.targets
    if found is None:
        return verdicts.broken('nft-rules', 'there is no table '
                               f'{ownership.NFT_TABLE}', verdicts.RESTORE)
    lacking = sorted(wanted - found.targets)
    if lacking:
        proto, _vip_, port, backend, dest_port = lacking[0]
        return verdicts.broken(
            'nft-rules', f'{proto}/{port} does not lead to {backend} port '
            f'{dest_port}', verdicts.RESTORE)
    if found.altered:
        return verdicts.broken(
            'nft-rules', f'another program has changed the table '
            f'{ownership.NFT_TABLE}', verdicts.RESTORE)
    rules = subjects.certain(facts.subject.vip).rules
    return verdicts.ok(
        'nft-rules', f'{wording.count(len(wanted), "destination")} of '
        f'{wording.count(len(rules), "rule")}; '
        f'{_count(found.connections)}')


def _count(connections: Mapping[kernels.Target, int] | readers.Unread) -> str:
    """How many connections there are, and where most of them lead."""
    if isinstance(connections, readers.Unread):
        return f'connections not counted ({connections})'
    by_backend: collections.Counter[str] = collections.Counter()
    for target, number in connections.items():
        by_backend[target[3]] += number
    total = sum(by_backend.values())
    if not total:
        return 'no connection at present'
    return f'{wording.count(total, "connection")} at present: ' + ', '.join(
        f'{number:d} to {backend}'
        for backend, number in by_backend.most_common(_NAMED))
