# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""Driver gateway_drain: the order in gateway groups, their relays and BFD.

The owner of a gateway port keeps the lead: a return to the former owner would
cost packets.  A drained candidate is a standby again when its agent starts.
"""

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.conf import plugins
from ovn_network_agent.conf.options import bridges
from ovn_network_agent.drivers import base
from ovn_network_agent.drivers.common import announcing
from ovn_network_agent.drivers.common import gateway_order as order
from ovn_network_agent.drivers.common import relays
from ovn_network_agent.gateways import departure
from ovn_network_agent.gateways import transitions

_PHASES = (model.Phase.RUNNING, model.Phase.DRAINING)


class GatewayDrainDriver(base.Driver):
    """Wants the priorities and the relays of gateway groups."""

    ASKS = (plugins.RANKING,)
    # The core has the other options of the section.
    OTHER_OPTIONS = ('gateway_drain.relay', 'gateway_drain.relay_candidates',
                     'gateway_drain.restore',
                     'gateway_drain.drain_on_shutdown', 'ovn.bfd_min_rx',
                     'ovn.bfd_min_tx', 'ovn.bfd_mult', announcing.METHOD)
    SUBJECTS = (model.Node, model.GatewayGroup)

    def resources(self, subject: model.Node | model.GatewayGroup,
                  node: model.Node) -> base.Wanted:
        """Overlap and timers; priorities and relays of groups."""
        if isinstance(subject, model.Node):
            return self._node(node)
        return self._group(subject, node)

    def _node(self, node: model.Node) -> base.Wanted:
        if node.phase not in _PHASES:
            return
        if node.overlap:
            yield resources.Overlap(node.overlap)
        timers = self.settings.ovn
        if timers.bfd_mult and node.chassis:
            yield resources.BfdTimers(node.chassis, timers.bfd_min_rx,
                                      timers.bfd_min_tx, timers.bfd_mult)

    def _group(self, group: model.GatewayGroup,
               node: model.Node) -> base.Wanted:
        if self.settings.gateway_drain.relay:
            yield from self._relays(group, node)
        wanted, owned = self._order(group, node)
        before = tuple((c.chassis, c.priority) for c in group.candidates)
        after = tuple(sorted((c.chassis, c.priority) for c in wanted))
        for candidate in sorted(wanted, key=lambda c: c.chassis):
            yield resources.GatewayPriority(
                group.table, group.key, candidate.chassis,
                candidate.priority, candidate.drained, candidate.earlier,
                owned=owned, before=before, after=after)

    def _relays(self, group: model.GatewayGroup,
                node: model.Node) -> base.Wanted:
        served = bridges.served(self.settings)
        for bridge in served:
            if bridge in group.bridges(served):
                yield from relays.ports(
                    group, node, bridge,
                    relays.network_of(bridge, node, served[0]),
                    self.settings.gateway_drain.relay_candidates)
                yield from relays.arriving(group, node, bridge)
            else:
                yield from relays.kept(group, node, bridge)

    def _order(self, group: model.GatewayGroup, node: model.Node
               ) -> tuple[tuple[model.Candidate, ...], tuple[str, ...]]:
        """(candidates with the wanted values, ports that must be here).

        The state of the group decides (:mod:`gateways.transitions`).
        """
        own = group.candidate(node.chassis)
        if own is None or node.phase not in _PHASES:
            return (), ()
        peers = [c for c in group.candidates if c is not own]
        match transitions.GROUP.wants[group.state].order:
            case transitions.Order.ZERO:
                why = departure.why(group, node, self.settings)
                return order.lowered(own, why) if why else (), ()
            case transitions.Order.LEAD:
                return order.lead(own, peers), tuple(
                    port.redirect for port in group.ports if port.chassis)
            case transitions.Order.UNMARK:
                return order.unmarked(own), ()
            case transitions.Order.STANDBY:
                owners = {port.chassis for port in group.ports} - {''}
                ordered = self.settings.gateway_drain.restore == 'ordered'
                return order.standby(
                    own, peers, owners,
                    ordered and own.earlier or order.STANDBY), ()
        return (), ()
