# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Judges of the flows of the provider bridge.  Pure."""

from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.diagnosis.address import foreign
from ovn_network_agent.diagnosis.address import verdicts
from ovn_network_agent.openflow import ofctl_text

_CHECKS = {ownership.COOKIE_MAC_TWEAK: 'mac-tweak-flow',
           ownership.COOKIE_HAIRPIN: 'hairpin-flow'}


def judge(facts):
    """The findings about the flows of an address.

    :param facts: :class:`facts.Facts`
    :returns: list of :class:`finding.Finding`
    """
    wanted = facts.subject.wanted_of(resources.Flow)
    found = [foreign.judge(facts)]
    for cookie, check in _CHECKS.items():
        of_kind = [each for each in wanted if each.cookie == cookie]
        if not of_kind:
            found.append(verdicts.unchecked(check, 'none is wanted'))
            continue
        found.append(verdicts.unread(check, facts.flows) or
                     _flow(check, of_kind[0], facts))
    return found


def _flow(check, wanted, facts):
    """The finding about one flow."""
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


def _in_its_place(check, wanted, what, other, facts):
    """The finding about a flow of another program with the same match."""
    text = (f'{wanted.bridge}: a flow with cookie {other.cookie:#x} is in the '
            f'place of {what}')
    if foreign.names(facts, other.cookie, other.priority):
        return verdicts.unchecked(
            check, f'{text} (follows from: {verdicts.LAYERS["other-flows"]})')
    match = ofctl_text.match(wanted)
    return verdicts.broken(
        check, text, f'"ovs-ofctl --strict del-flows {wanted.bridge} '
        f'cookie={other.cookie:#x}/-1,table=0,priority={wanted.priority},'
        f'{match}" removes the flow, and "ovn-network-agent-ctl resync" has '
        'the agent write its own; have the program that wrote the flow no '
        'longer write it')


def _same(flow, wanted):
    """Whether a flow has the actions of the wanted flow."""
    return (getattr(flow, 'set_src', None), getattr(flow, 'set_dst', None),
            getattr(flow, 'output', None)) == (
                wanted.set_src, wanted.set_dst, wanted.output)
