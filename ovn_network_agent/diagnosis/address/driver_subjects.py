# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Judges of what drivers want: subjects of their sources, egress addresses,
peerings."""

from collections.abc import Iterator
from collections.abc import Sequence
import typing

from oslo_config import cfg

from ovn_network_agent import diagnosis
from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.common import networks
from ovn_network_agent.common import wording
from ovn_network_agent.conf.options import egress_ip
from ovn_network_agent.control import resource_rows
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import facts
from ovn_network_agent.diagnosis.address import facts as known
from ovn_network_agent.diagnosis.address import ovn
from ovn_network_agent.diagnosis.address import subject as subjects
from ovn_network_agent.diagnosis.address import verdicts
from ovn_network_agent.diagnosis.readers import agent
from ovn_network_agent.diagnosis.readers import sources
from ovn_network_agent.drivers import base
from ovn_network_agent.engine import ledger
from ovn_network_agent.engine import outcome
from ovn_network_agent.ovn.writes import marked_rows
from ovn_network_agent.ovsdb import lock_state

Verdict = diagnosis.Verdict

_CHECK = 'resource'
_AGAIN = ('ask again; if it stays so, "ovn-network-agent-ctl status" has the '
          'reasons')
_VERDICTS = {ledger.State.IN_PLACE.value: Verdict.OK,
             ledger.State.DUE.value: Verdict.WARN,
             ledger.State.UNDER_WAY.value: Verdict.WARN,
             ledger.State.UNREACHABLE.value: Verdict.NOT_CHECKED}
_EGRESS_AGENT = (
    'an agent with the driver egress_ip repairs it at once: '
    '"ovn-network-agent-ctl egress" on such a node says which one writes')
_SEE = 'see the page about egress addresses for what a place needs'
_FEW = 3
_AGENT = ('an agent with the driver network_peer repairs it at once: '
          '"ovn-network-agent-ctl peers" on such a node says which one writes')


class DriverSubject(typing.NamedTuple):
    """A subject of a source, and what a driver says about an address of it."""

    text: str  # the subject and the driver, for people
    wanted: tuple[resources.Resource, ...]  # about the address
    layers: tuple[diagnosis.Finding, ...] = ()  # by the driver itself


def concerning(wanted: base.Wanted, address: str
               ) -> tuple[resources.Resource, ...]:
    """The resources and problems about an address."""
    return tuple(each for each in wanted if (
        address in each.addresses if isinstance(each, resources.Problem) else
        each.kind != resources.Keep.kind and
        (each.subject == networks.host_prefix(address) or
         resource_rows.has(each.key, address))))


def layers(driver: base.Driver, subject: typing.Any, address: str
           ) -> tuple[diagnosis.Finding, ...]:
    """What a driver, maybe foreign, finds; its errors cost its own layers."""
    found = []
    try:
        for each in driver.explain(subject, address):
            found.append(diagnosis.Finding(
                f'driver-{driver.name}', each.name, Verdict(each.verdict),
                each.evidence, each.remedy))
    except Exception as error:
        found.append(diagnosis.Finding(
            f'driver-{driver.name}', f'driver {driver.name}',
            Verdict.NOT_CHECKED, wording.typed_error(error)))
    return tuple(found)


def judge(facts: facts.Facts) -> list[diagnosis.Finding]:
    """The findings about an address that only sources of drivers have."""
    found = [ovn.agent(facts)]
    for each in facts.driver_subjects:
        found += [verdicts.problem('wanted', one.naming(one.addresses).text)
                  if isinstance(one, resources.Problem) else
                  _resource(one, facts.rows) for one in each.wanted]
        found += each.layers
    return found


def unmade(facts: facts.Facts) -> list[diagnosis.Finding]:
    """The findings about the subjects that could not be made."""
    return [diagnosis.Finding('subject', 'subjects of drivers',
                            Verdict.NOT_CHECKED, text)
            for text in facts.unmade]


def _resource(resource: resources.Resource,
              known: dict[tuple[str, str], agent.Answer] | readers.Unread
              ) -> diagnosis.Finding:
    """The finding whether the running agent has a resource in place."""
    def judged(verdict: diagnosis.Verdict, text: str, remedy: str = ''
               ) -> diagnosis.Finding:
        return diagnosis.Finding(
            _CHECK, resource.kind.replace('_', ' '), verdict,
            f'{outcome.describe(resource)}: {text}', remedy)
    if isinstance(known, readers.Unread):
        return judged(Verdict.NOT_CHECKED, str(known))
    row = known.get((resource.kind, outcome.brief(resource.key)))
    if row is None or not row['wanted']:
        return judged(Verdict.BROKEN, 'the agent does not want it', _AGAIN)
    text = ': '.join(filter(None, (row['state'], row['reason'])))
    verdict = _VERDICTS.get(row['state'], Verdict.BROKEN)
    return judged(verdict, text, {
        Verdict.WARN: _AGAIN, Verdict.BROKEN: verdicts.RESTORE}.get(
            verdict, ''))


def read(conf: cfg.ConfigOpts, control: str, address: str
         ) -> agent.Answer | None:
    """Ask the agent for the objects that an address concerns.

    :param control: control socket, '' for none
    :raises readers.Unread: when the agent does not answer
    """
    if egress_ip.GROUP not in conf.drivers:
        return None
    answer = agent.ask(control, 'egress')
    objects = [one for one in answer['egress_ips'] if address in (
        *one['addresses'], *(each['address'] for each in one['machines']))]
    return {**answer, 'egress_ips': objects} if objects else None


def leaves(facts: facts.Facts) -> bool:
    """Whether an egress address has to do with the address."""
    return bool(facts.egress) and not isinstance(facts.egress, readers.Unread)


def judge_egress(facts: facts.Facts) -> list[diagnosis.Finding]:
    """The findings about egress addresses."""
    if facts.egress is None:
        return []
    if isinstance(facts.egress, readers.Unread):
        return [verdicts.unchecked('egress', str(facts.egress))]
    address = facts.subject.address
    found: list[diagnosis.Finding] = []
    for one in facts.egress['egress_ips']:
        if address in one['addresses']:
            found += _of_address(one, address)
        for machine in one['machines']:
            if machine['address'] == address:
                found += _of_machine(one, machine)
    if found and facts.egress['node']:
        rows = facts.egress['node']
        found.append(verdicts.broken(
            'egress-node',
            f'{wording.count(len(rows), "part is", "parts are")} not in '
            f'place, such as {rows[0]["kind"]} {rows[0]["ref"]} '
            f'({rows[0]["state"]}) {rows[0]["reason"]}', verdicts.RESTORE))
    return found


def _of_address(one: agent.Answer, address: str
                ) -> Iterator[diagnosis.Finding]:
    """Who leaves with an egress address."""
    places = [place for place in one['places'] if place['address'] == address]
    if not places:
        yield verdicts.warn(
            'egress', f'address of {one["name"]}, and in use nowhere: ' + (
                one['why'] or '; '.join(sorted({
                    place['why'] for place in one['places'] if place['why']}))
                or 'no router or node needs it'), _SEE)
    for place in places:
        machines = [each for each in one['machines']
                    if each['router'] == place['router'] and
                    address in each['leaves_with']]
        yield verdicts.ok(
            'egress', wording.count(
                len(machines), f'machine of {one["name"]} leaves',
                f'machines of {one["name"]} leave') +
            f' with it by router {place["router_name"]}{_where(place)} (mode '
            f'{one["mode"]})')
        yield _egress_rows(place)


def _of_machine(one: agent.Answer, machine: agent.Answer
                ) -> Iterator[diagnosis.Finding]:
    """How a machine leaves."""
    places = [place for place in one['places']
              if place['router'] == machine['router'] and
              place['address'] in machine['leaves_with']]
    if places:
        yield verdicts.ok(
            'egress', f'port {machine["port"]} leaves with ' + ', '.join(
                f'{place["address"]} by router {place["router_name"]}'
                f'{_where(place)}' for place in places) +
            f' ({one["name"]}, mode {one["mode"]})' + (
                ' for ' + ', '.join(one['destinations'])
                if one['destinations'] else ''))
        yield from map(_egress_rows, places)
        return
    text = (f'port {machine["port"]} does not leave with an address of '
            f'{one["name"]}: {machine["why"]}')
    if any(place['why'] == machine['why'] for place in one['places']):
        yield verdicts.warn('egress', text, _SEE)
    else:
        yield verdicts.ok('egress', text)


def _where(place: agent.Answer) -> str:
    return (f', port {place["port"]}' if place['port'] else '') + (
        f', node {place["chassis"]}' if place['chassis'] else '')


def _egress_rows(place: agent.Answer) -> diagnosis.Finding:
    if place['rows'] == ledger.State.IN_PLACE.value:
        return verdicts.ok('egress-rows', 'all rows of router '
                           f'{place["router_name"]} are in place')
    return verdicts.broken(
        'egress-rows', f'rows of router {place["router_name"]}: '
        f'{place["rows"]} {place["rows_why"]}'.rstrip(), _EGRESS_AGENT)


def judge_peerings(facts: known.Facts) -> list[diagnosis.Finding]:
    """The findings about the peerings of an address."""
    if isinstance(facts.peerings, readers.Unread):
        return [verdicts.unchecked('peering', str(facts.peerings))]
    found = [one for way in facts.peerings for one in (
        _created(facts, way) if way.wanted else [_other(way.peering)])]
    if any(way.wanted for way in facts.peerings):
        found.append(_writer(facts.peers))
    return found


def peered(facts: known.Facts) -> bool:
    """Whether something is known of a peering of the address."""
    return bool(facts.peerings) and not isinstance(facts.peerings,
                                                   readers.Unread)


def _other(peering: model.Peering) -> diagnosis.Finding:
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


def _created(facts: known.Facts, way: sources.Way
             ) -> Iterator[diagnosis.Finding]:
    peering, address = way.peering, facts.subject.address
    prefix, nexthop = next(
        route for side in subjects.certain(way.wanted).sides
        if side.router == peering.router
        for route in side.routes if networks.covers(route[0], address))
    yield verdicts.ok(
        'peering', f'router {peering.called} reaches {prefix} by its peering '
        f'{peering.name} with {peering.target}, next hop {nexthop}; back: '
        f'{", ".join(peering.gives) or "nothing"}')
    yield _peering_rows(way)
    yield _policies(facts, way)


def _peering_rows(way: sources.Way) -> diagnosis.Finding:
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


def _policies(facts: known.Facts, way: sources.Way) -> diagnosis.Finding:
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


def _writer(answer: agent.Answer | readers.Unread) -> diagnosis.Finding:
    if isinstance(answer, readers.Unread):
        return verdicts.unchecked('peering-writer', str(answer))
    state = answer['lock']
    if state != lock_state.State.NOT_CONNECTED.value:
        return verdicts.ok('peering-writer', lock_state.WRITERS[state])
    return verdicts.warn(
        'peering-writer', lock_state.WRITERS[state],
        'see the checks of the databases: "ovn-network-agent-ctl doctor '
        'nb-database"')
