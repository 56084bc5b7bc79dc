# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Driver network_peer: routers of tenants that peer inside OVN.

All agents with the driver want the same rows in OVN NB; the backend lets one
of them write.
"""

from collections.abc import Iterator
import json

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.common import notices
from ovn_network_agent.conf import plugins
from ovn_network_agent.conf.options import network_peer as options
from ovn_network_agent.drivers import base
from ovn_network_agent.resources import northbound as rows

_FAMILIES = {4: 'ip4', 6: 'ip6'}


class NetworkPeerDriver(base.Driver):
    """Wants the rows of each peering to which both routers agree."""

    CONFIG_OPTS = options.OPTS
    SUBJECTS = (model.Peering,)
    ASKS = (plugins.STATIC_ROUTES,)

    def events(self) -> tuple[base.Watch, ...]:
        """What the view of the agent does not have of routers and ports."""
        return (base.Watch('nb', 'Logical_Router', ('policies',)),
                *(base.Watch('nb', table, (*columns, 'external_ids'),
                             stale=(notices.PEERINGS,))
                  for table, columns in rows.PEERING_COLUMNS.items()))

    def resources(self, subject: model.Peering,
                  node: model.Node) -> base.Wanted:
        """The rows of a peering, from the intents of both routers."""
        if subject.state in (model.PeerState.CONFLICT, model.PeerState.ERROR):
            yield resources.Problem(
                f'router {subject.called}: peering {subject.name} has no rows '
                f'in OVN ({subject.state.value}): {subject.why}',
                router=subject.router)
        if subject.state is not model.PeerState.CREATED:
            return
        one, other = map(self._side, subject.sides)
        peering = resources.Peering(subject.pair, (one, other))
        if (node.phase is model.Phase.STOPPED and
                not self.settings.network_peer.cleanup_on_stop):
            yield resources.Keep(peering.ref, foreign=True)
        else:
            yield peering

    def _side(self, side: model.Side) -> rows.PeerSide:
        return resources.PeerSide(
            side.router, side.port, side.mac, tuple(sorted(side.addresses)),
            side.routes, tuple(sorted(self._policies(side))),
            tuple(sorted((name, side.prefixes(family))
                         for family, name in side.address_sets)))

    def _policies(self, side: model.Side) -> Iterator[rows.PeerPolicy]:
        """Sources of the peer come from the peer, and from nowhere else."""
        chosen = self.settings.network_peer
        peer = f'inport == {json.dumps(side.port)}'
        yield resources.PeerPolicy(chosen.drop_priority, peer, 'drop')
        for family, name in side.address_sets:
            if not side.prefixes(family):
                continue
            source = f'{_FAMILIES[family]}.src == ${name}'
            yield resources.PeerPolicy(chosen.allow_priority,
                                       f'{peer} && {source}', 'allow')
            for uplink in side.uplinks:
                yield resources.PeerPolicy(
                    chosen.drop_priority,
                    f'inport == {json.dumps(uplink)} && {source}', 'drop')
