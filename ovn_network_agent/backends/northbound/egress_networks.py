# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend egress_networks: the links of this node, in NB_Global.

The object of this agent is its own entry.  An entry of a chassis that is gone
for good makes the own entry count as another one, so its next change removes
both.  An agent that has none, and wants none, then counts as one that has, so
the entry of the last node goes as well.
"""

from collections.abc import Mapping
from typing import Any

from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.backends.northbound import chassis_presence
from ovn_network_agent.backends.northbound import nb_writer
from ovn_network_agent.backends.northbound import ovsdb_writer
from ovn_network_agent.common import notices
from ovn_network_agent.ovn.egress import egress_rows
from ovn_network_agent.ovsdb import connection


class EgressNetworksBackend(nb_writer.Writer):
    """The entry of this chassis."""

    name = 'egress_networks'
    kinds = (resources.EgressNetworks,)
    doubted_by = (notices.EGRESS_NETWORKS, notices.CHASSIS_GONE,
                  notices.IDENTITY)
    revived_by = (notices.connected('nb'),)

    def __init__(self, conf: Any) -> None:
        super().__init__(conf)
        self._gone = frozenset[str]()

    def read(self, known: base.Known) -> list[resources.EgressNetworks]:
        """Read the entry of this chassis.

        :raises base.BackendError: when the replica of NB is not usable
        """
        chassis, found = self._context.chassis(), self._found()
        gone = tuple(sorted(self._of_the_gone(found)))
        return [resources.EgressNetworks(
            chassis, found.get(chassis, ()), gone
        )] if chassis in found or gone else []

    def command(self, verb: str, resource: resources.EgressNetworks
                ) -> ovsdb_writer.Make:
        """The command that writes or removes the entry of this chassis."""
        addresses = None if verb == 'remove' else resource.addresses
        gone = self._gone
        return lambda api: egress_rows.SetNetworks(
            api, resource.chassis, addresses, gone)

    def apply(self, delta: base.Delta) -> base.Failures:
        """Change the entry, and remove those of chassis that are gone.

        The Southbound server confirms first; without its answer, they stay,
        which is no failure.

        :raises base.BackendError: when NB does not answer
        """
        self._gone = chassis_presence.confirmed_gone(
            self._context, self.conf, self._of_the_gone(self._found()))
        return super().apply(delta)

    def _found(self) -> dict[str, tuple[str, ...]]:
        try:
            with self._context.databases['nb'].rows() as nb:
                return {chassis: addresses
                        for row in nb.get('NB_Global', {}).values()
                        for chassis, addresses in egress_rows.read_networks(
                            row).items()}
        except connection.Unavailable as e:
            raise base.BackendError(str(e)) from e

    def _of_the_gone(self, found: Mapping[str, tuple[str, ...]]
                     ) -> frozenset[str]:
        """Names of chassis with an entry that are gone for good."""
        return frozenset(found.keys() & {
            each.chassis for each in self._context.dead()} - {
                self._context.chassis()})
