# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Judges of what the kernel answers about the packets of an address.  Pure."""

from ovn_network_agent import diagnosis
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import networks
from ovn_network_agent.diagnosis.address import facts
from ovn_network_agent.diagnosis.address import subject as subjects
from ovn_network_agent.diagnosis.address import verdicts
from ovn_network_agent.drivers.common import announcing
from ovn_network_agent.frr import setup as setups
from ovn_network_agent.netlink.objects import lookups

# The table of a route that the kernel does not name.
_UNKNOWN = 0


def way_back(facts: facts.Facts) -> list[diagnosis.Finding]:
    """The findings about the way back, in order."""
    checks = {'way-back': back}
    if facts.setup.vrf:
        checks['vrf-default'] = out_of_vrf
    return [verdicts.unread(check, facts.kernel) or function(facts)
            for check, function in checks.items()]


def route(facts: facts.Facts) -> diagnosis.Finding:
    """The finding about the route of the address to the bridge."""
    subject = facts.subject
    wanted = next((each for each in subject.wanted_of(
        resources.KernelRoute, resources.AnnouncedRoute)
        if each.subject == subject.prefix and
        each.dev == subjects.certain(subject.segment).device), None)
    device = subjects.certain(subject.segment).device
    table = wanted.table if wanted else resources.MAIN_TABLE
    found = facts.kernel.lookups['here']
    named = (found.table, found.dst) == (table, subject.prefix)
    if found.dev != device or found.error or _is_other(facts, found, table):
        return verdicts.broken(
            'kernel-route', f'no route {subject.prefix} dev {device} in '
            f'table {table}; the kernel would use: {found.text()}',
            verdicts.RESTORE)
    if wanted and named and found.protocol != ownership.ROUTE_PROTOCOL:
        return verdicts.warn(
            'kernel-route', f'{found.text()}: not the mark of the agent, '
            f'proto {ownership.ROUTE_PROTOCOL}',
            'remove the other route, and have the agent compare')
    return verdicts.ok('kernel-route', found.text())


def _is_other(facts: facts.Facts, found: lookups.Lookup, table: int) -> bool:
    """Whether the kernel uses another route than the one of the address.

    zebra's routes share a next hop, and the kernel keeps one answer of IPv6
    for each next hop, with the name of whichever route was used first.
    """
    named = found.dst == facts.subject.prefix
    return (found.table != table) if named else facts.version == 4


def way_in(facts: facts.Facts) -> diagnosis.Finding:
    """The finding about a packet that comes out of the veth pair."""
    found = facts.kernel.lookups.get('in')
    device = subjects.certain(facts.subject.segment).device
    if found is None:
        return verdicts.broken(
            'kernel-lookup', f'there is no device {ownership.VETH_DEFAULT}',
            verdicts.RESTORE)
    back_ = facts.kernel.lookups.get('out')
    if found.refused and back_ and back_.error and not back_.refused:
        # The kernel looks for the way back to the sender, too.
        return verdicts.unchecked(
            'kernel-lookup', f'{found.text()} (follows from: '
            f'{verdicts.LAYERS["way-back"]})')
    if found.dev != device or found.error:
        return verdicts.broken(
            'kernel-lookup', f'from {facts.setup.client} out of '
            f'{ownership.VETH_DEFAULT}: {found.text()}, and not to {device}',
            'look for a rule or route of another program: '
            f'"{verdicts.IP[facts.version]} rule", '
            f'"ip route get {facts.subject.address} from '
            f'{facts.setup.client} iif {ownership.VETH_DEFAULT}"')
    return verdicts.ok('kernel-lookup', f'out of {ownership.VETH_DEFAULT}: '
                                        f'{found.text()}')


def in_vrf(facts: facts.Facts) -> diagnosis.Finding:
    """The finding about the route of the address in the VRF."""
    found = facts.kernel.lookups.get('vrf')
    prefix, vrf = facts.subject.prefix, facts.setup.vrf
    if found is None:
        return verdicts.broken(
            'vrf-lookup', f'there is no device {vrf}',
            f'"ip link add {vrf} type vrf table NUMBER", and "ip link set '
            f'{vrf} up"')
    other = _is_other(facts, found, found.table)
    wider = other and found.dst and networks.inside(
        facts.subject.address, networks.of_version(4, [found.dst]))
    if found.dev != ownership.VETH_PROVIDER or other and not wider:
        return verdicts.broken(
            'vrf-lookup', f'{vrf} does not send {prefix} to '
            f'{ownership.VETH_PROVIDER}: {found.text()}',
            f'{verdicts.RESTORE}; if it stays so, look for a rule or route '
            f'of another program: "{verdicts.IP[facts.version]} rule", '
            f'"{verdicts.IP[facts.version]} route show vrf {vrf} '
            f'{facts.subject.address}"')
    if other:
        return _by_a_wider_route(facts, found)
    return verdicts.ok('vrf-lookup', found.text())


def _by_a_wider_route(facts: facts.Facts, found: lookups.Lookup
                      ) -> diagnosis.Finding:
    """The finding about packets that arrive without the route of the address.

    By the method "static", zebra announces the route that the kernel lacks.
    """
    prefix, vrf = facts.subject.prefix, facts.setup.vrf
    evidence = (f'{vrf} has no route {prefix} in the kernel; packets go to '
                f'{ownership.VETH_PROVIDER} by a wider route: {found.text()}')
    if facts.setup.method == 'kernel':
        return verdicts.broken(
            'vrf-lookup', f'{evidence}, which does not announce the address',
            verdicts.RESTORE)
    return verdicts.warn(
        'vrf-lookup', evidence, 'if zebra reports the route as installed, '
        'another program has removed it: "ovn-network-agent-ctl doctor '
        'network-managers" looks for one; once that is repaired, drain this '
        'node and restart FRR, which makes its routes again')


def back(facts: facts.Facts) -> diagnosis.Finding:
    """The finding about a reply that comes out of the bridge."""
    found = facts.kernel.lookups.get('out')
    wanted = ownership.VETH_DEFAULT if facts.setup.pair else ''
    setup, device = facts.setup, subjects.certain(facts.subject.segment).device
    if found is None:
        return verdicts.broken('way-back', f'there is no device {device}',
                               verdicts.RESTORE)
    if found.error or (wanted and found.dev != wanted):
        return verdicts.broken(
            'way-back', f'from {facts.subject.address} out of {device} to '
            f'{setup.client}: {found.text()}'
            f'{", and not to " + wanted if wanted else ""}',
            'look for a rule or route of another program: "ip route get '
            f'{setup.client} from {facts.subject.address} iif {device}"')
    return verdicts.ok('way-back', f'to {setup.client}: {found.text()}')


def out_of_vrf(facts: facts.Facts) -> diagnosis.Finding:
    """The finding about the way of a reply from the VRF to the fabric."""
    found = facts.kernel.lookups.get('out vrf')
    setup = facts.setup
    sender = facts.kernel.lookups.get('vrf')
    if (found and found.error and not found.missing and
            sender and sender.error):
        # The kernel looks for the way back to the sender, too.
        return verdicts.unchecked(
            'vrf-default', f'{found.text()} (follows from: '
            f'{verdicts.LAYERS["vrf-lookup"]})')
    node = subjects.certain(facts.subject.node)
    device = next((each for each in node.devices if each.name == setup.vrf),
                  None)
    table = device.vrf_table if device else 0
    if found is None or found.error or found.table not in (table, _UNKNOWN):
        return verdicts.broken(
            'vrf-default', f'{setup.vrf} has no route to {setup.client}: '
            f'{found.text() if found else "no such device"}',
            'the operator of the BGP neighbour has to announce a default '
            'route to this node; or set one, in "configure terminal" of '
            f'vtysh: "vrf {setup.vrf}" / "{setups.WORDS[facts.version]} '
            f'route {announcing.DEFAULT_PREFIX[facts.version]} NEXT-HOP"')
    if found.dev in (ownership.VETH_PROVIDER, facts.device):
        return verdicts.broken(
            'vrf-default', f'{setup.vrf} sends {setup.client} back to '
            f'{found.dev}', f'"{verdicts.IP[facts.version]} route del '
            f'{found.dst} table {found.table}" removes that route; who made '
            'it has to make it no longer')
    return verdicts.ok('vrf-default', f'to {setup.client}: {found.text()}')
