# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Outages of databases, northd, Open vSwitch and ovn-controller."""

import re
import time

from lab import node as nodes
from lab.chaos.actions import base

# Share of the flows of ovn-controller that has to be back.
_MOST = 0.9
_AGE = re.compile(r' duration=([\d.]+)s,')


def _ages(node):
    """Ages of the flows in the integration bridge, a list of seconds.

    The list is empty while the switch does not answer.
    """
    return [float(age) for age in _AGE.findall(node.run(
        ['ovs-ofctl', 'dump-flows', 'br-int'], check=False,
        timeout=30).stdout)]


def _with_flows(step, name):
    """An outage after which ovn-controller makes its flows again.

    The flows of the former ovn-controller stay until then, so only young
    flows count.
    """
    before = len(_ages(step.node))
    base.suffer(step, name)
    ended = time.monotonic()

    def made():
        ages, since = _ages(step.node), time.monotonic() - ended
        return sum(age <= since for age in ages) >= _MOST * before

    nodes.wait_until('ovn-controller has made its flows again', made, 60,
                     0.3)
    step.excuse(step.through(step.target), step.began, time.monotonic(),
                'the switch had not all flows of OVN')


def _vswitchd(step):
    # BFD takes the dead switch for a dead node.
    step.excuse_claims(step.target, 'OVN took the switch for dead')
    with step.world.without(step.target, 'vswitchd'):
        _with_flows(step, 'vswitchd')


def _controller(step):
    _with_flows(step, 'ovn-controller')


ACTIONS = (
    base.outage('nb', (0.5, 4)),
    base.outage('sb', (0.5, 4)),
    base.outage('databases', (0.5, 4)),
    base.outage('databases-silent', (4, 14)),
    base.outage('northd', (0.5, 4)),
    base.outage('ovsdb', (0.5, 4)),
    base.outage('ovsdb-silent', (4, 12)),
    base.outage('vswitchd', (0.3, 1.5), perform=_vswitchd),
    base.outage('ovn-controller', (0.5, 3), perform=_controller),
)
