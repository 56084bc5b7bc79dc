# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Explains how a machine leaves the cloud, and who leaves with an address."""

from collections.abc import Iterator

from oslo_config import cfg

from ovn_network_agent.conf.options import egress_ip
from ovn_network_agent.diagnosis import finding
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.address import facts
from ovn_network_agent.diagnosis.address import verdicts
from ovn_network_agent.diagnosis.readers import agent
from ovn_network_agent.engine import ledger

_AGENT = ('an agent with the driver egress_ip repairs it at once: '
          '"ovn-network-agent-ctl egress" on such a node says which one '
          'writes')
_SEE = 'see the page about egress addresses for what a place needs'


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


def reached(facts: facts.Facts) -> bool:
    """Whether an egress address has to do with the address."""
    return bool(facts.egress) and not isinstance(facts.egress, readers.Unread)


def judge(facts: facts.Facts) -> list[finding.Finding]:
    """The findings about egress addresses."""
    if facts.egress is None:
        return []
    if isinstance(facts.egress, readers.Unread):
        return [verdicts.unchecked('egress', str(facts.egress))]
    address = facts.subject.address
    found: list[finding.Finding] = []
    for one in facts.egress['egress_ips']:
        if address in one['addresses']:
            found += _of_address(one, address)
        for machine in one['machines']:
            if machine['address'] == address:
                found += _of_machine(one, machine)
    if found and facts.egress['node']:
        rows = facts.egress['node']
        found.append(verdicts.broken(
            'egress-node', f'{len(rows):d} parts are not in place, such as '
            f'{rows[0]["kind"]} {rows[0]["ref"]} ({rows[0]["state"]}) '
            f'{rows[0]["reason"]}', verdicts.RESTORE))
    return found


def _of_address(one: agent.Answer, address: str) -> Iterator[finding.Finding]:
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
            'egress', f'{len(machines):d} machines of {one["name"]} leave '
            f'with it by router {place["router_name"]}{_where(place)} (mode '
            f'{one["mode"]})')
        yield _rows(place)


def _of_machine(one: agent.Answer, machine: agent.Answer
                ) -> Iterator[finding.Finding]:
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
        yield from map(_rows, places)
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


def _rows(place: agent.Answer) -> finding.Finding:
    if place['rows'] == ledger.State.IN_PLACE.value:
        return verdicts.ok('egress-rows', 'all rows of router '
                           f'{place["router_name"]} are in place')
    return verdicts.broken(
        'egress-rows', f'rows of router {place["router_name"]}: '
        f'{place["rows"]} {place["rows_why"]}'.rstrip(), _AGENT)
