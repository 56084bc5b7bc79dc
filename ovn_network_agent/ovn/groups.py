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

"""The gateway groups that this chassis is a candidate of.

Pure, like :mod:`ovn.snapshot`, of which this is a part.  A group is built
from rows that are remembered with it, and again only when one of them
changed.
"""

import collections
import dataclasses

from ovn_network_agent import model
from ovn_network_agent.ovn import rows


class Groups:
    """Keeps the groups up to date.

    :param find: function(database, table, name) that returns the
        :class:`index.Index` of that name
    :param follows: function(name of a chassisredirect port): whether this
        agent is to care about it
    """

    def __init__(self, find, follows):
        self._find = find
        self._follows = follows
        self._built = {}
        self._depends = collections.defaultdict(set)
        self._first = True
        self._drained = set()

    def forget(self):
        """Build everything anew the next time."""
        self._built.clear()
        self._depends.clear()

    def changed(self, table, uuid):
        """A row is new, gone or different.

        Called before and after the indexes have taken it in.
        """
        if table == 'Chassis':
            # They name chassis, and these come and go rarely.
            self.forget()
        stale = set(self._depends.pop(uuid, ()))
        if table == 'Port_Binding':
            for lrp in self._find('sb', table, 'redirect').keys_of(uuid):
                by_name = self._find('nb', 'Logical_Router_Port', 'name')
                for port in by_name.find(lrp):
                    stale |= self._depends.get(port, set())
        elif table == 'Logical_Router_Port':
            stale |= {('HA_Chassis_Group', group) for group in self._find(
                'nb', table, 'group').keys_of(uuid)}
        for key in stale:
            self._built.pop(key, None)

    def of(self, nb, sb, chassis):
        """The groups that a chassis is a candidate of.

        :param nb: dict of table name to dict of UUID to row; likewise sb
        :param chassis: name of the chassis
        :returns: tuple of :class:`model.GatewayGroup`
        """
        found = []
        for key in sorted(set(self._keys(nb, chassis))):
            if key not in self._built:
                self._built[key] = self._build(nb, sb, key)
            group = self._built[key]
            if group.candidate(chassis).priority > 0:
                self._drained.discard(key)
            elif self._first:
                self._drained.add(key)
            if any(self._follows(port.redirect) for port in group.ports):
                found.append(
                    dataclasses.replace(group, restore=True)
                    if key in self._drained else group)
        self._first = False
        return tuple(found)

    def _keys(self, nb, chassis):
        """(table, UUID of the row that has the members) of the groups."""
        ports = self._find('nb', 'Logical_Router_Port', 'member')
        for uuid in self._find('nb', 'Gateway_Chassis',
                               'chassis').find(chassis):
            for port in ports.find(uuid):
                row = nb['Logical_Router_Port'].get(port)
                if row is not None and rows.members(row)[1] is row:
                    yield 'Gateway_Chassis', port
        shared = self._find('nb', 'HA_Chassis_Group', 'member')
        for uuid in self._find('nb', 'HA_Chassis', 'chassis').find(chassis):
            for group in shared.find(uuid):
                yield 'HA_Chassis_Group', group

    def _build(self, nb, sb, key):
        table, uuid = key
        if table == 'HA_Chassis_Group':
            owner = nb[table][uuid]
            members = owner.ha_chassis
            ports = self._find('nb', 'Logical_Router_Port',
                               'group').find(uuid)
        else:
            owner = nb['Logical_Router_Port'][uuid]
            members = owner.gateway_chassis
            ports = [uuid]
        for used in (uuid, *ports, *(member.uuid for member in members)):
            self._depends[used].add(key)
        known = self._find('sb', 'Chassis', 'name')
        candidates = sorted(
            (model.Candidate(m.chassis_name, m.priority,
                             known.first(m.chassis_name) is not None)
             for m in members), key=lambda c: c.chassis)
        return model.GatewayGroup(
            table, str(uuid), owner.name, tuple(candidates),
            tuple(sorted(self._ports(nb, sb, ports),
                         key=lambda port: port.redirect)))

    def _ports(self, nb, sb, ports):
        redirects = self._find('sb', 'Port_Binding', 'redirect')
        for uuid in ports:
            redirect = redirects.first(nb['Logical_Router_Port'][uuid].name)
            if redirect is not None:
                binding = sb['Port_Binding'][redirect]
                yield model.GroupPort(binding.logical_port,
                                      rows.chassis_name(binding))
