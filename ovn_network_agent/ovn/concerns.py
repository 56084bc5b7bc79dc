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

"""The routers that rows concern, by the indexes.  Pure."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import itertools

from ovn_network_agent import ownership
from ovn_network_agent.model import wiring as wirings
from ovn_network_agent.ovn import indexes
from ovn_network_agent.ovn import nats
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Uuid


class Concerns:
    """Finds routers.

    :param follows: whether this agent handles a chassisredirect port
    :param depends: see :class:`ovn.routers.Routers`
    """

    def __init__(self, find: indexes.Find, follows: Callable[[str], bool],
                 depends: Mapping[Uuid, set[Uuid]]) -> None:
        self._find = find
        self._follows = follows
        self._depends = depends

    def bound(self, uuid: Uuid) -> Iterator[Uuid]:
        """The routers whose ports a row of Port_Binding is about."""
        for name in ('redirect', 'peer'):
            for lrp in self._find('sb', 'Port_Binding', name).keys_of(uuid):
                yield from self.of_port(lrp)
                for port in self._find('nb', 'Logical_Router_Port',
                                        'name').find(lrp):
                    yield from self._depends.get(port, ())

    def of_port(self, lrp: str) -> set[Uuid]:
        """The routers with a port of that name."""
        by_name = self._find('nb', 'Logical_Router_Port', 'name')
        by_port = self._find('nb', 'Logical_Router', 'port')
        return {router for port in by_name.find(lrp)
                for router in by_port.find(port)}

    def via(self, address: str) -> set[Uuid]:
        """The routers whose virtual gateway would be an address."""
        by_nexthop = self._find('nb', 'Logical_Router_Port', 'nexthop')
        by_port = self._find('nb', 'Logical_Router', 'port')
        return {router for port in by_nexthop.find(address)
                for router in by_port.find(port)}

    def here(self, bindings: indexes.Bindings, wiring: wirings.Wiring,
             marks: Iterable[ownership.Owner],
             machines: nats.Machines) -> set[Uuid]:
        """The routers that concern this chassis.

        :param marks: :attr:`model.Node.marks`
        """
        bound = self._find('sb', 'Port_Binding', 'bound')
        concerned: set[Uuid] = set()
        for uuid in bound.find(wiring.chassis):
            if self._follows(columns.atom(bindings[uuid], 'logical_port')):
                for lrp in self._find('sb', 'Port_Binding',
                                       'redirect').keys_of(uuid):
                    concerned.update(self.of_port(lrp))
        for lrp in wiring.held:
            concerned.update(self.of_port(lrp))
        concerned.update(machines.routers_here(bindings))
        tagged = self._find('nb', 'Logical_Router_Static_Route', 'tag')
        by_route = self._find('nb', 'Logical_Router', 'route')
        for uuid in itertools.chain.from_iterable(map(tagged.find, marks)):
            concerned.update(by_route.find(uuid))
        return concerned
