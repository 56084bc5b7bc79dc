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

"""Managed routes of chassis that are gone for good: finding and removing."""

from collections.abc import Collection
from collections.abc import Iterator
from typing import Any

from ovn_network_agent import networks
from ovn_network_agent import ownership
from ovn_network_agent import resources
from ovn_network_agent.ovn import commands
from ovn_network_agent.ovn import routes
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovsdb import columns


def stale_routes(nb: columns.Tables, dead: Collection[ownership.Owner]
                 ) -> Iterator[resources.StaleRoute]:
    """Managed default routes of chassis that are gone for good."""
    for router, _row, route in routes.managed(nb, dead) if dead else ():
        yield resources.StaleRoute(router, route.output_port, route.nexthop,
                                   route.owner)


class RemoveStaleRoute(commands.ResourceCommand[resources.StaleRoute]):
    """Remove a managed default route that a dead chassis has left.

    The command removes the MAC binding of the next hop, too, unless a living
    chassis has a managed route through the same port.  The server refuses the
    transaction when another agent takes the route over meanwhile.
    """

    def __init__(self, api: Any, unwanted: resources.StaleRoute,
                 dead: Collection[ownership.Owner]) -> None:
        super().__init__(api, unwanted)
        self._dead = dead

    def run_idl(self, txn: Any) -> None:
        """Delete the route, and the binding that nobody else needs."""
        stale = self.resource
        router, removed = self.router(stale.router), False
        for row, route in self.managed_routes(stale.router):
            if (route.owner, route.output_port, route.nexthop) == (
                    stale.owner, stale.lrp, stale.nexthop):
                row.verify('external_ids')
                router.verify('static_routes')
                router.delvalue('static_routes', row)
                row.delete()
                removed = True
        if not removed or self._in_use():
            return
        binding = self.mac_bindings(txn).pop((stale.lrp, stale.nexthop), None)
        if binding is not None:
            binding.verify('mac')
            binding.delete()

    def _in_use(self) -> bool:
        """Whether a living chassis has such a route through the port."""
        family = networks.family(self.resource.nexthop)
        routes_left = map(rows.default_route, self.rows(
            'Logical_Router_Static_Route').values())
        return any(route is not None and route.managed and
                   route.output_port == self.resource.lrp and
                   networks.family(route.prefix) == family and
                   route.owner not in self._dead for route in routes_left)
