# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Judge of flows of other programs that keep an address's packets.  Pure."""

from ovn_network_agent import ownership
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import verdicts

_CHECK = 'other-flows'
_NORMAL = 'NORMAL'
_NAMED = 5


def judge(facts):
    """The finding about the flows of other programs.

    :param facts: :class:`facts.Facts`
    :returns: :class:`finding.Finding`
    """
    unread = verdicts.unread(_CHECK, facts.journeys)
    if unread:
        return unread
    lost = [each for each in facts.journeys if not each.arrives]
    by_flow = {}
    for each in lost:
        by_flow.setdefault(culprit(each), []).append(each)
    unknown = by_flow.pop(None, [])
    if by_flow:
        return _broken(by_flow)
    if unknown:
        return _unclear(unknown)
    return verdicts.ok(
        _CHECK, f'none keeps {verdicts.ASKING[facts.version]}, ICMP, TCP or '
        'UDP of the address from its way')


def culprit(journey):
    """The flow of another program that decides about a lost packet.

    :param journey: :class:`readers.packets.Journey` that does not arrive
    :returns: :class:`openflow.trace_text.Step`, or None
    """
    if _tracked(journey):
        return None
    return next((step for step in reversed(journey.steps) if _foreign(step)),
                None)


def _tracked(journey):
    """Whether the bridge asks connection tracking about a packet.

    A simulated packet has no connection, so its fate decides nothing.
    """
    return any(action.startswith('ct(') for step in journey.steps
               for action in step.actions)


def names(facts, cookie, priority):
    """Whether the finding names a flow, as far as the flow is known.

    :param facts: :class:`facts.Facts`
    :param cookie: its cookie
    :param priority: its priority
    """
    if isinstance(facts.journeys, readers.Unread):
        return False
    found = [culprit(each) for each in facts.journeys if not each.arrives]
    return any((step.cookie, step.priority) == (cookie, priority)
               for step in found if step)


def _foreign(step):
    """Whether a flow is neither the agent's nor the switch's own default."""
    return (step.match is not None and
            step.cookie not in ownership.FLOW_COOKIES and
            step.actions != (_NORMAL,))


def _broken(by_flow):
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
        _CHECK, '; '.join(texts), f'{commands} removes '
        f'{"the flow" if len(flows) == 1 else "the flows"}; have the program '
        'that wrote the flow no longer write it')


def deletion(step):
    """The command that removes a flow."""
    match = f',{step.match}' if step.match else ''
    return (f'ovs-ofctl --strict del-flows {step.bridge} '
            f'cookie={step.cookie:#x}/-1,table={step.table},'
            f'priority={step.priority}{match}')


def _unclear(lost):
    """The finding about packets that get lost without such a flow."""
    one = lost[0]
    packets = ', '.join(each.packet.name for each in lost)
    last = one.steps[-1] if one.steps else None
    if last is not None and last.match is None and len(one.steps) == 1:
        return verdicts.broken(
            _CHECK, f'{one.bridge} has no flow for {packets}',
            f'"ovs-ofctl add-flow {one.bridge} priority=0,actions=NORMAL" '
            'adds the default flow of a bridge')
    why = ('connection tracking decides about real packets' if _tracked(one)
           else 'no flow of another program is the cause')
    return verdicts.warn(
        _CHECK, f'{one.bridge} does not deliver a simulated packet '
        f'({packets}); {why}' + (f' ({last.text()})' if last else ''),
        f'"ovs-appctl fdb/show {one.bridge}" shows on which ports the bridge '
        'has seen the MACs; follow the packet with --trace --verbose')
