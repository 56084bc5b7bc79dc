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

"""The subjects of a view that drivers are asked about, by their kinds.

Pure.  A kind is a class.  The name of a subject has two parts: what it belongs
to (the UUID of a router, for example), and what is left of the name, ''
for most.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses

from ovn_network_agent import model
from ovn_network_agent import port_forwards
from ovn_network_agent import served

#: All kinds, in the order in which drivers are asked.
KINDS = (model.Node, port_forwards.Forwards, model.GatewayGroup, model.Router,
         model.ServedAddress)

Parts = Mapping[str, object]
Subjects = Mapping[str, Parts]


class View:
    """Finds the subjects of each view."""

    def __init__(self) -> None:
        self._routers = served.Routers()

    def subjects(self, snapshot: model.Snapshot) -> dict[type, Subjects]:
        """The subjects of a view, those of unchanged values as before."""
        node, forwards = snapshot.node, snapshot.forwards
        if forwards is not None:
            node = dataclasses.replace(
                node, extent=port_forwards.extent(forwards))
        routers, addresses = self._routers.update(snapshot.routers)
        return {
            model.Node: {'node': {'': node}},
            port_forwards.Forwards: (
                {} if forwards is None else {'forwards': {'': forwards}}),
            model.GatewayGroup: {f'{group.table} {group.key}': {'': group}
                                 for group in snapshot.groups},
            model.Router: {uuid: {'': router}
                           for uuid, router in routers.items()},
            model.ServedAddress: addresses}


def changes(before: Subjects, now: Subjects) -> Iterator[
        tuple[str, Parts, Iterable[str]]]:
    """What differs between two views of one kind.

    :returns: (what subjects belong to, those that are new or have another
        value, the names of those that are gone)
    """
    for about, parts in now.items():
        former = before.get(about, {})
        if parts is not former:
            yield about, {
                name: subject for name, subject in parts.items()
                if (known := former.get(name)) is not subject and
                known != subject}, former.keys() - parts.keys()
    for about in before.keys() - now.keys():
        yield about, {}, before[about].keys()
