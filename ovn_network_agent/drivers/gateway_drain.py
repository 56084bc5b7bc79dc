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


"""Driver gateway_drain: the order of the candidates of gateway groups.

The chassis that has a gateway port keeps the lead, so that the port does
not go back by itself when a former owner returns: each move costs packets.
A candidate that was drained is a standby again once its agent starts.
"""

from ovn_network_agent.drivers import base
from ovn_network_agent.drivers import networks
from ovn_network_agent.drivers import relays
from ovn_network_agent import model
from ovn_network_agent import resources

# The lead is at least that, so that a peer which becomes a standby again,
# at 1, does not tie with it.
_LEAST_LEAD = 2
_STANDBY = 1
# Beyond it the group is numbered anew.  The schema ends at 32767, and
# Neutron has groups that begin there.
_HIGHEST = 100


class GatewayDrainDriver(base.Driver):
    """See the module."""

    def for_router(self, router, node):
        """What relays the packets of ports that leave."""
        for port in router.served_ports:
            if port.relay:
                nets = networks.provider_networks(port.networks,
                                                  self.conf.network_cidr)
                yield from relays.leaving(router, port, nets,
                                          self.conf.bridge_dev)

    def for_group(self, group, node):
        if self.conf.gateway_drain.relay:
            yield from relays.ports(group, node, self.conf.bridge_dev)
            yield from relays.arriving(group, node, self.conf.bridge_dev)
        own = group.candidate(node.chassis)
        peers = [c for c in group.candidates if c is not own]
        if own is None or not peers or node.phase is not model.Phase.RUNNING:
            return
        if group.moving:
            # Whoever gave another one more wants it to have the port.
            return
        if _active(group, node.chassis):
            yield from _changes(group, _lead(group, own, peers), tuple(
                port.redirect for port in group.ports if port.chassis))
        elif own.priority == 0 and group.restore:
            yield from _changes(group, {own.chassis: _STANDBY})


def _active(group, chassis):
    """Whether all of its ports that somebody has are on that chassis."""
    owners = {port.chassis for port in group.ports} - {''}
    return owners == {chassis}


def _lead(group, own, peers):
    """Priorities that give a candidate the lead, dict of chassis to int."""
    highest = max(c.priority for c in peers)
    if own.priority > highest and own.priority >= _LEAST_LEAD:
        return {}
    lead = max(highest + 1, _LEAST_LEAD)
    if lead <= _HIGHEST:
        return {own.chassis: lead}
    return _compact(own, peers)


def _compact(own, peers):
    """The same order with small numbers; what is drained stays at 0."""
    ranks = {priority: rank for rank, priority in enumerate(
        sorted({c.priority for c in peers} - {0}), _STANDBY)}
    wanted = {c.chassis: ranks.get(c.priority, 0) for c in peers}
    wanted[own.chassis] = max(*wanted.values(), _STANDBY) + 1
    return wanted


def _changes(group, wanted, owned=()):
    before = tuple((c.chassis, c.priority) for c in group.candidates)
    for chassis, priority in sorted(wanted.items()):
        yield resources.GatewayPriority(
            group.table, group.key, chassis, priority, owned=owned,
            before=before, after=tuple(sorted(wanted.items())))
