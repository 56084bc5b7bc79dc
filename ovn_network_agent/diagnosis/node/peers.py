# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.
"""Check of the routers that peer inside OVN."""

import collections

from ovn_network_agent.control import client
from ovn_network_agent.control import peers
from ovn_network_agent.diagnosis.node import check
from ovn_network_agent.diagnosis.node import words
from ovn_network_agent.ovsdb import lock

_BAD = ('conflict', 'error')
_ALL = '"ovn-network-agent-ctl peers" shows all of them'


def read_peers(sources):
    """Ask the agent for the peerings: its answer, a dict.

    :raises check.NotChecked: without the driver, and without an agent
    :raises control.client.NoAgent: when the agent does not answer
    """
    if peers.DRIVER not in sources.conf.drivers:
        raise check.NotChecked(f'[DEFAULT] drivers has no {peers.DRIVER}')
    try:
        return sources.peers()
    except client.NotRunning as error:
        raise check.NotChecked(str(error)) from None


def judge_peers(found):
    """A conflict or an error of one peering, or of the lock, is a warning.

    :param found: see :func:`read_peers`
    """
    peerings, fine = found['peerings'], True
    for state in _BAD:
        wrong = [f'{each["name"]} of router {each["router_name"]}: '
                 f'{each["why"]}' for each in peerings
                 if each['state'] == state]
        if wrong:
            fine = False
            yield check.warn(f'peerings with {state}, which have no rows in '
                             f'OVN: {words.named(wrong)}', _ALL)
    if found['lock'] == lock.State.NOT_CONNECTED.value:
        fine = False
        yield check.warn(
            'the lock of the agent that writes peerings cannot be asked for, '
            'so this agent writes none', 'see nb-database: the lock is asked '
            'for at the leader of OVN_Northbound alone')
    if fine:
        counts = collections.Counter(each['state'] for each in peerings)
        yield check.ok(f'{counts["created"]:d} created, '
                       f'{counts["pending"]:d} pending; lock of the writer: '
                       f'{found["lock"]}')


CHECKS = (
    check.Check(
        'peerings', 'OVN', 'with the driver network_peer and a running agent: '
        'no peering is in conflict or has an error, and the lock of the '
        'writer can be asked for', read_peers, judge_peers, ('agent',)),
)
