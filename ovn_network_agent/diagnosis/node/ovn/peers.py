# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Check of the routers that peer inside OVN."""

import collections
from collections.abc import Iterator

from ovn_network_agent.conf.options import network_peer
from ovn_network_agent.control.socket import client
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import sources
from ovn_network_agent.diagnosis.readers import agent
from ovn_network_agent.engine import ledger
from ovn_network_agent.ovsdb import lock_state

_BAD = ('conflict', 'error')
_ALL = '"ovn-network-agent-ctl peers" shows all of them'
ASK_FOR_LOCK = ('see nb-database: the lock is asked for at the leader of '
                'OVN_Northbound alone')
_OTHER = ('see "ovn-network-agent-ctl peers" on the node of the writer, the '
          'one with ovn_network_agent_lock_state{state="held"}: it has other '
          'intents, such as another peers_file, or it hangs')


def read_peers(sources: sources.Sources) -> agent.Answer:
    """Ask the agent for the peerings; see :func:`ask`."""
    return ask(sources, network_peer.GROUP, 'peers')


def ask(sources: sources.Sources, driver: str, command: str) -> agent.Answer:
    """Ask the agent for what a driver has; NotChecked without the driver."""
    if driver not in sources.conf.drivers:
        raise check.NotChecked(f'[DEFAULT] drivers has no {driver}')
    try:
        return sources.ask(command)
    except client.NotRunning as error:
        raise check.NotChecked(str(error)) from None


def judge_peers(found: agent.Answer) -> Iterator[check.Result]:
    """A peering that is not pending and lacks rows; a lock unanswered."""
    peerings, writer, good = found['peerings'], found['lock'], True
    for state in _BAD:
        wrong = [f'{_called(each)}: {each["why"]}' for each in peerings
                 if each['state'] == state]
        if wrong:
            good = False
            yield check.warn(f'peerings with {state}, which have no rows in '
                             f'OVN: {check.named(wrong)}', _ALL)
    away = [f'{_called(each)}: {each["rows"]} ({each["rows_why"]})'
            for each in peerings if each['state'] == 'created' and
            each['rows'] != ledger.State.IN_PLACE.value]
    if away:
        good = False
        yield check.warn(
            'peerings that are created, and whose rows are not in place: '
            f'{check.named(away)}', _OTHER if writer ==
            lock_state.State.WAITING.value else _ALL)
    if writer == lock_state.State.NOT_CONNECTED.value:
        good = False
        yield check.warn(lock_state.WRITERS[writer], ASK_FOR_LOCK)
    if good:
        counts = collections.Counter(each['state'] for each in peerings)
        yield check.ok(f'{counts["created"]:d} created, '
                       f'{counts["pending"]:d} pending; '
                       f'{lock_state.WRITERS[writer]}')


def _called(peering: agent.Answer) -> str:
    return f'{peering["name"]} of router {peering["router_name"]}'


CHECKS = (
    check.Check(
        'peerings', 'OVN', 'with the driver network_peer and a running agent: '
        'no peering is in conflict or has an error, the rows of all others '
        'that are created are in place, and the lock of the writer can be '
        'asked for', read_peers, judge_peers, ('agent',)),
)
