# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Judges of the flows of the provider bridge, also those of others.  Pure."""

from ovn_network_agent import diagnosis
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import facts
from ovn_network_agent.diagnosis.address import verdicts
from ovn_network_agent.diagnosis.readers import packets
from ovn_network_agent.diagnosis.readers import switch
from ovn_network_agent.openflow import ofctl_text
from ovn_network_agent.openflow import trace_text

_CHECKS = {ownership.COOKIE_MAC_TWEAK: 'mac-tweak-flow',
           ownership.COOKIE_HAIRPIN: 'hairpin-flow'}
_OTHERS = 'other-flows'
_NORMAL = 'NORMAL'
_NAMED = 5


def judge(facts: facts.Facts) -> list[diagnosis.Finding]:
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
        _OTHERS, f'none keeps {verdicts.ASKING[facts.version]}, ICMP, TCP or '
        'UDP of the address from its way')


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
