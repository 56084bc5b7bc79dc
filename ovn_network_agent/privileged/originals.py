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

"""Which lines of the prefix list the original program has left.

Their shape and their numbers may be those of an operator, too.  But beside
each line the original leaves the way back of that network: a policy rule that
names no maker, and a route of our protocol through the veth pair.  Ours name
us, so neither a former run of this agent nor an operator is taken for it.

No entry point: the agent asks here what is to go, and the root side whether
it may.
"""

from ovn_network_agent import ownership
from ovn_network_agent.frr import shape

# Networks.  The rule of one may go before its line does.
_proven = set()


def networks(copies, leak):
    """Networks whose lines are the original's.

    :param copies: dict of daemon to list of :class:`frr.output.Entry`
    :param leak: (priority, table) of the rules of the veth leak
    :returns: set of str
    :raises OSError: when the kernel does not answer
    """
    found = set()
    for entries in copies.values():
        found |= shape.counted(shape.shaped(entries))
    # A line that comes later in the place of one that is gone is another.
    _proven.intersection_update(found)
    if found - _proven:
        _proven.update(_led_back(found - _proven, leak))
    return set(_proven)


def forget():
    """For a process that goes on as somebody else."""
    _proven.clear()


def _led_back(wanted, leak):
    """Those of the networks whose way back the original has made, a set."""
    # The daemon of FRR is a process that has to start, and rarely asks.
    from ovn_network_agent.netlink import routes
    from ovn_network_agent.netlink import rules
    there = [rule for rule in rules.read_all()
             if (rule.priority, rule.table) == leak and rule.src in wanted and
             (rule.dst, rule.iif, rule.fwmark, rule.suppress) ==
             (None, None, None, None)]
    found = {rule.src for rule in there if not rule.protocol} - {
        rule.src for rule in there
        if rule.protocol == ownership.RULE_PROTOCOL}
    # There may be many routes.
    return found and found & {
        route.dst for route in routes.read_ours(ownership.ROUTE_PROTOCOL)
        if route.dev == ownership.VETH_PROVIDER}
