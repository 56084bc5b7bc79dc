# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Judges of the peerings by which routers reach an address.  Pure."""

from collections.abc import Iterator
from collections.abc import Sequence

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.common import networks
from ovn_network_agent.diagnosis import finding
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import facts as known
from ovn_network_agent.diagnosis.address import subject as subjects
from ovn_network_agent.diagnosis.address import verdicts
from ovn_network_agent.diagnosis.readers import agent
from ovn_network_agent.diagnosis.readers import peerings
from ovn_network_agent.ovn.writes import marked_rows
from ovn_network_agent.ovsdb import lock_state

_FEW = 3
_AGENT = ('an agent with the driver network_peer repairs it at once: '
          '"ovn-network-agent-ctl peers" on such a node says which one writes')


def judge(facts: known.Facts) -> list[finding.Finding]:
    """The findings about the peerings of an address."""
    if isinstance(facts.peerings, readers.Unread):
        return [verdicts.unchecked('peering', str(facts.peerings))]
    found = [one for way in facts.peerings for one in (
        _created(facts, way) if way.wanted else [_other(way.peering)])]
    if any(way.wanted for way in facts.peerings):
        found.append(_writer(facts.peers))
    return found


def reached(facts: known.Facts) -> bool:
    """Whether something is known of a peering of the address."""
    return bool(facts.peerings) and not isinstance(facts.peerings,
                                                   readers.Unread)


def _other(peering: model.Peering) -> finding.Finding:
    """A router that would give the address to another one."""
    text = (f'router {peering.called} gives it to nobody by its peering '
            f'{peering.name} with {peering.target} ({peering.state.value}): '
            f'{peering.why}')
    if peering.state is model.PeerState.PENDING:
        return verdicts.warn(
            'peering', text, 'have the other router name this one: '
            '"ovn-network-agent-ctl peer add"')
    return verdicts.broken(
        'peering', text, 'change the networks, routes or filters of one of '
        'both routers, or remove the peering')


def _created(facts: known.Facts, way: peerings.Way
             ) -> Iterator[finding.Finding]:
    peering, address = way.peering, facts.subject.address
    prefix, nexthop = next(
        route for side in subjects.certain(way.wanted).sides
        if side.router == peering.router
        for route in side.routes if networks.covers(route[0], address))
    yield verdicts.ok(
        'peering', f'router {peering.called} reaches {prefix} by its peering '
        f'{peering.name} with {peering.target}, next hop {nexthop}; back: '
        f'{", ".join(peering.gives) or "nothing"}')
    yield _rows(way)
    yield _policies(facts, way)


def _rows(way: peerings.Way) -> finding.Finding:
    wrong = [f'{len(rows):d} {how}, such as {_row(rows[0])}'
             for rows, how in ((way.missing, 'missing'),
                               (way.others, 'too many or changed')) if rows]
    if wrong:
        return verdicts.broken('peering-rows', 'rows of the peering in OVN '
                               f'NB: {"; ".join(wrong)}', _AGENT)
    return verdicts.ok('peering-rows', 'all rows of both routers are as '
                       'wanted')


def _row(values: marked_rows.Values) -> str:
    return (f'{values.table} {" ".join(map(str, values.atoms[0]))} of router '
            f'{values.router}')


def _policies(facts: known.Facts, way: peerings.Way) -> finding.Finding:
    """Which rule of the other router lets packets in, and which drops."""
    gives, client = way.peering.gives, facts.setup.client
    family = [prefix for prefix in gives
              if networks.family(prefix) == facts.version]
    lets = [f'{each.priority:d} "{each.match}"'
            for each in way.entry.policies if each.action == 'allow' and
            f'ip{facts.version:d}.src' in each.match]
    drops = max((each.priority for each in way.entry.policies
                 if each.action == 'drop'), default=0)
    text = (f'the other router lets in {", ".join(family) or "nothing"} '
            f'(allow: {", ".join(lets) or "no policy"}), and drops all other '
            f'sources of the peer (drop: {drops:d})')
    if not family:
        return verdicts.warn(
            'peering-policies', text, 'look at the filters of both routers, '
            'and at the addresses of this one')
    for others, where in (
            ([each for each in way.foreign if each.priority >= drops],
             'policies of others are in front there'),
            (way.detours, 'policies of others at this router, which send '
             'packets elsewhere or drop them')):
        if others:
            return verdicts.warn(
                'peering-policies', f'{text}; {where}: {_named(others)}',
                'look whether these match packets to or from the peer')
    if client not in known.EXAMPLES and not any(
            networks.covers(prefix, client) for prefix in family):
        return verdicts.unchecked(
            'peering-policies', f'{text}; {client} is not among them, so it '
            f'is dropped if it comes by this peering (drop: {drops:d})')
    return verdicts.ok('peering-policies', text)


def _named(policies: Sequence[resources.PeerPolicy]) -> str:
    shown = ', '.join(f'{each.priority:d} {each.action} "{each.match}"'
                      for each in policies[:_FEW])
    more = len(policies) - _FEW
    return shown + (f' and {more:d} more' if more > 0 else '')


def _writer(answer: agent.Answer | readers.Unread) -> finding.Finding:
    if isinstance(answer, readers.Unread):
        return verdicts.unchecked('peering-writer', str(answer))
    state = answer['lock']
    if state != lock_state.State.NOT_CONNECTED.value:
        return verdicts.ok('peering-writer', lock_state.WRITERS[state])
    return verdicts.warn(
        'peering-writer', lock_state.WRITERS[state],
        'see the checks of the databases: "ovn-network-agent-ctl doctor '
        'nb-database"')
