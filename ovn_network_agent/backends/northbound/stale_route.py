# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend stale_route: routes of chassis that are gone for good, in OVN NB.

No driver wants one, so the ordinary difference removes it. The view decides
which chassis are gone, and the Southbound server is asked once more, because a
replica may lack rows.
"""

from typing import Any

from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.backends import ovsdb_writer
from ovn_network_agent.backends.northbound import server_question
from ovn_network_agent.common import notices
from ovn_network_agent.ovn.chassis import absent_chassis
from ovn_network_agent.ovn.writes import commands
from ovn_network_agent.ovsdb import connection


class StaleRouteBackend(ovsdb_writer.NbWriter):
    """Managed default routes of chassis that are gone for good."""

    name = 'stale_route'
    kinds = (resources.StaleRoute,)
    doubted_by = (notices.STATIC_ROUTES, notices.CHASSIS_GONE)
    revived_by = (notices.connected('nb'),)
    reads_only_rows = True

    def __init__(self, conf: Any,
                 timeout: float = server_question.TIMEOUT) -> None:
        super().__init__(conf)
        self._timeout = timeout

    def read(self, known: base.Known) -> list[resources.StaleRoute]:
        """Read the managed routes of chassis that are gone for good.

        :raises base.BackendError: when the replica of NB is not usable
        """
        dead = self._context.dead()
        try:
            with self._context.databases['nb'].rows() as nb:
                return [resources.StaleRoute(router, route.output_port,
                                             route.nexthop, route.owner)
                        for router, _row, route in (
                            commands.managed(nb, dead) if dead else ())]
        except connection.Unavailable as e:
            raise base.BackendError(str(e)) from e

    def command(self, verb: str, resource: resources.StaleRoute
                ) -> ovsdb_writer.Make:
        """The command that removes a route; only 'remove' occurs."""
        dead = self._context.dead()
        return lambda api: commands.RemoveStaleRoute(api, resource, dead)

    def apply(self, delta: base.Delta) -> base.Failures:
        """Remove the routes of chassis that SB does not have, either.

        :param delta: only its deletions are looked at
        :returns: :class:`base.Kept` for the route of a chassis that is there
        :raises base.BackendError: when SB or NB does not answer
        """
        present = server_question.ask_chassis(self._context, self.conf,
                                              self._timeout)
        back = {r.ref for r in resources.of_kind(
            resources.StaleRoute, delta.delete)
                if absent_chassis.known(r.owner, present)}
        failures = {ref: base.Kept('its chassis is there') for ref in back}
        rest = tuple(r for r in delta.delete if r.ref not in back)
        return failures | (super().apply(base.Delta(delete=rest))
                           if rest else {})
