# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The check of egress addresses."""

from ovn_network_agent.conf import egress_ip
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import peers
from ovn_network_agent.diagnosis.node import words
from ovn_network_agent.engine import ledger
from ovn_network_agent.ovsdb import lock_state

_ALL = '"ovn-network-agent-ctl egress" shows all of them'
_OTHER = ('see "ovn-network-agent-ctl egress" on the node of the writer, '
          'the one with ovn_network_agent_lock_state{state="held"}: it has '
          'another file, or it hangs')


def read_egress(sources):
    """Ask the agent for the egress addresses; see :func:`peers.ask`."""
    return peers.ask(sources, egress_ip.GROUP, 'egress')


def judge_egress(found):
    """Objects and places without an address, rows and parts of the node.

    :param found: see :func:`read_egress`
    """
    objects, writer, fine = found['egress_ips'], found['lock'], True
    wrong = [f'{one["name"]}: {why}' for one in objects
             for why in (one['why'], *one['problems']) if why]
    wrong += [f'{one["name"]} at router {place["router_name"]}: '
              f'{place["why"]}' for one in objects for place in one['places']
              if not place['address']]
    if wrong:
        fine = False
        yield check.warn('machines that do not leave with their egress '
                         f'address: {words.named(wrong)}', _ALL)
    away = [f'{one["name"]} at router {place["router_name"]}: '
            f'{place["rows"]} ({place["rows_why"]})'
            for one in objects for place in one['places']
            if place['address'] and
            place['rows'] != ledger.State.IN_PLACE.value]
    if away:
        fine = False
        yield check.warn(
            f'rows that are not in place: {words.named(away)}',
            _OTHER if writer == lock_state.State.WAITING.value else _ALL)
    if found['node']:
        fine = False
        yield check.warn('what this node needs to translate is not in place: '
                         + words.named([f'{row["kind"]} {row["ref"]} '
                                        f'({row["state"]}) {row["reason"]}'
                                        for row in found['node']]), _ALL)
    if writer == lock_state.State.NOT_CONNECTED.value:
        fine = False
        yield check.warn(lock_state.WRITERS[writer], peers.ASK_FOR_LOCK)
    if fine:
        machines = sum(not each['why'] for one in objects
                       for each in one['machines'])
        yield check.ok(f'{len(objects):d} objects, {machines:d} addresses of '
                       f'machines leave; {lock_state.WRITERS[writer]}')


CHECKS = (
    check.Check(
        'egress', 'OVN', 'with the driver egress_ip and a running agent: each '
        'router or node that needs an egress address has one, its rows are in '
        'place, and what this node translates, too', read_egress,
        judge_egress, ('agent',)),
)
