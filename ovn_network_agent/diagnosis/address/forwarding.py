# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Judges of how flows and the kernel forward packets of an address.  Pure."""

from ovn_network_agent import diagnosis
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.common import networks
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import facts
from ovn_network_agent.diagnosis.address import subject as subjects
from ovn_network_agent.diagnosis.address import verdicts
from ovn_network_agent.diagnosis.readers import packets
from ovn_network_agent.diagnosis.readers import switch
from ovn_network_agent.drivers.common import announcing
from ovn_network_agent.frr import setup as setups
from ovn_network_agent.netlink.objects import lookups
from ovn_network_agent.openflow import ofctl_text
from ovn_network_agent.openflow import trace_text

_CHECKS = {ownership.COOKIE_MAC_TWEAK: 'mac-tweak-flow',
           ownership.COOKIE_HAIRPIN: 'hairpin-flow'}
_OTHERS = 'other-flows'
_NORMAL = 'NORMAL'
_NAMED = 5
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


def flows(facts: facts.Facts) -> list[diagnosis.Finding]:
    """The findings about the flows of an address."""
    wanted = facts.subject.wanted_of(resources.Flow)
    found = [other_flows(facts)]
    for cookie, check in _CHECKS.items():
        of_kind = [each for each in wanted if each.cookie == cookie]
        if not of_kind:
            found.append(verdicts.unchecked(check, 'none is wanted'))
            continue
        found.append(verdicts.unread(check, facts.flows) or
                     _flow(check, of_kind[0], facts))
    return found


def _flow(check: str, wanted: resources.Flow, facts: facts.Facts
          ) -> diagnosis.Finding:
    there = facts.flows.get(wanted, ())
    what = (f'cookie {wanted.cookie:#x} priority {wanted.priority} in_port '
            f'{wanted.in_port}{" to " + wanted.dst if wanted.dst else ""}')
    ours = [each for each in there if each.cookie == wanted.cookie and
            each.priority == wanted.priority]
    others = [each for each in there if each.priority == wanted.priority and
              each.cookie != wanted.cookie]
    if not ours and others:
        return _in_its_place(check, wanted, what, others[0], facts)
    if not ours:
        return verdicts.broken(check, f'{wanted.bridge} has no flow {what}',
                               verdicts.RESTORE)
    if not _same(ours[0].flow, wanted):
        return verdicts.broken(
            check, f'{wanted.bridge}: the flow {what} has other actions, '
            f'such as for a former MAC ({ours[0].flow})', verdicts.RESTORE)
    return verdicts.ok(check, f'{what}: {ours[0].packets} packets')


def _in_its_place(check: str, wanted: resources.Flow, what: str,
                  other: switch.Found, facts: facts.Facts
                  ) -> diagnosis.Finding:
    """The finding about a foreign flow with the same match."""
    text = (f'{wanted.bridge}: a flow with cookie {other.cookie:#x} is in the '
            f'place of {what}')
    if _is_named(facts, other.cookie, other.priority):
        return verdicts.unchecked(
            check, f'{text} (follows from: {verdicts.LAYERS["other-flows"]})')
    match = ofctl_text.match(switch.flow_spec(wanted))
    return verdicts.broken(
        check, text, f'"ovs-ofctl --strict del-flows {wanted.bridge} '
        f'cookie={other.cookie:#x}/-1,table=0,priority={wanted.priority},'
        f'{match}" removes the flow, and "ovn-network-agent-ctl resync" has '
        'the agent write its own; have the program that wrote the flow no '
        'longer write it')


def _same(flow: object, wanted: resources.Flow) -> bool:
    return (getattr(flow, 'set_src', None), getattr(flow, 'set_dst', None),
            getattr(flow, 'output', None)) == (
                wanted.set_src, wanted.set_dst, wanted.output)


def other_flows(facts: facts.Facts) -> diagnosis.Finding:
    """The finding about the flows of other programs."""
    unread = verdicts.unread(_OTHERS, facts.packet_traces)
    if unread:
        return unread
    lost = [each for each in facts.packet_traces if not each.arrives]
    unknown: list[packets.PacketTrace] = []
    by_flow: dict[trace_text.Step, list[packets.PacketTrace]] = {}
    for each in lost:
        flow = culprit(each)
        (by_flow.setdefault(flow, []) if flow else unknown).append(each)
    if by_flow:
        return _broken(by_flow)
    if unknown:
        return _unclear(unknown)
    return verdicts.ok(
        _OTHERS, f'none keeps {verdicts.REQUESTS[facts.version]}, ICMP, TCP '
        'or UDP of the address from its way')


def culprit(trace: packets.PacketTrace) -> trace_text.Step | None:
    """The flow of another program that decides about a lost packet."""
    if _tracked(trace):
        return None
    return next((step for step in reversed(trace.steps) if _foreign(step)),
                None)


def _tracked(trace: packets.PacketTrace) -> bool:
    """Whether the bridge tracks it; a simulated packet has no connection."""
    return any(action.startswith('ct(') for step in trace.steps
               for action in step.actions)


def _is_named(facts: facts.Facts, cookie: int, priority: int) -> bool:
    """Whether the finding names a flow, as far as the flow is known."""
    if isinstance(facts.packet_traces, readers.Unread):
        return False
    found = [culprit(each) for each in facts.packet_traces if not each.arrives]
    return any((step.cookie, step.priority) == (cookie, priority)
               for step in found if step)


def _foreign(step: trace_text.Step) -> bool:
    """Whether a flow is neither the agent's nor the switch's own default."""
    return (step.match is not None and
            step.cookie not in ownership.FLOW_COOKIES and
            step.actions != (_NORMAL,))


def _broken(by_flow: dict[trace_text.Step, list[packets.PacketTrace]]
            ) -> diagnosis.Finding:
    """The finding about flows of other programs, the worst first."""
    flows = sorted(by_flow, key=lambda step: -len(by_flow[step]))
    texts = []
    for step in flows[:_NAMED]:
        packets = ', '.join(each.packet.name for each in by_flow[step])
        verb = ('drops' if step.drops
                else f'diverts ({",".join(step.actions)})')
        texts.append(f'{step.text()}: {verb} {packets}')
    commands = ', '.join(f'"{deletion(step)}"' for step in flows[:_NAMED])
    return verdicts.broken(
        _OTHERS, '; '.join(texts), f'{commands} removes '
        f'{"the flow" if len(flows) == 1 else "the flows"}; have the program '
        'that wrote the flow no longer write it')


def deletion(step: trace_text.Step) -> str:
    """The command that removes a flow."""
    match = f',{step.match}' if step.match else ''
    return (f'ovs-ofctl --strict del-flows {step.bridge} '
            f'cookie={step.cookie:#x}/-1,table={step.table},'
            f'priority={step.priority}{match}')


def _unclear(lost: list[packets.PacketTrace]) -> diagnosis.Finding:
    """The finding about packets that get lost without such a flow."""
    one = lost[0]
    packets = ', '.join(each.packet.name for each in lost)
    last = one.steps[-1] if one.steps else None
    if last is not None and last.match is None and len(one.steps) == 1:
        return verdicts.broken(
            _OTHERS, f'{one.bridge} has no flow for {packets}',
            f'"ovs-ofctl add-flow {one.bridge} priority=0,actions=NORMAL" '
            'adds the default flow of a bridge')
    why = ('connection tracking decides about real packets' if _tracked(one)
           else 'no flow of another program is the cause')
    return verdicts.warn(
        _OTHERS, f'{one.bridge} does not deliver a simulated packet '
        f'({packets}); {why}' + (f' ({last.text()})' if last else ''),
        f'"ovs-appctl fdb/show {one.bridge}" shows on which ports the bridge '
        'has seen the MACs; follow the packet with --trace --verbose')
