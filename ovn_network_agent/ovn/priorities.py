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


"""Priorities of gateway candidates: reading them, and writing one."""

import uuid

from ovn_network_agent import resources
from ovn_network_agent.ovn import commands
from ovn_network_agent.ovn import marks
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb import command


def gateway_priorities(nb, chassis, groups=None):
    """Priorities of all candidates in the groups of a chassis.

    :param nb: dict of table name to dict of UUID to row
    :param chassis: name of the chassis
    :param groups: (table, UUID as text) of the groups to look at; None to
        search the whole database
    :returns: iterable of :class:`resources.GatewayPriority`
    """
    seen = set()
    for table, owner, members in (
            _all_groups(nb) if groups is None else _groups(nb, groups)):
        names = [columns.atom(member, 'chassis_name') for member in members]
        if owner.uuid in seen or chassis not in names:
            continue
        seen.add(owner.uuid)
        for name, member in zip(names, members, strict=True):
            yield resources.GatewayPriority(
                table, str(owner.uuid), name,
                columns.atom(member, 'priority'), *marks.read(member))


def _all_groups(nb):
    """(table, row with the candidates, rows of these) of all router ports."""
    return map(rows.members, nb['Logical_Router_Port'].values())


def _groups(nb, groups):
    """The same for the groups of these keys that are there."""
    for table, key in sorted(groups):
        row = nb['Logical_Router_Port' if table == 'Gateway_Chassis'
                 else table].get(uuid.UUID(key))
        if row is None:
            continue
        if table != 'Gateway_Chassis':
            yield table, row, columns.rows(row, 'ha_chassis')
            continue
        found = rows.members(row)
        if found[0] == table:
            yield found


class SetPriority(commands.NorthboundCommand):
    """Give one candidate of a group a priority and the mark for it.

    The command is refused unless all candidates have the priorities that the
    decision was based on.  The server refuses the transaction when one of
    these priorities changes meanwhile.

    :param wanted: :class:`resources.GatewayPriority`
    :param whole: whether a refusal makes the whole transaction fail
    """

    def __init__(self, api, wanted, whole=False):
        super().__init__(api)
        self.wanted = wanted
        self._whole = whole
        self._before = dict(wanted.before)

    def run_idl(self, txn):
        """Write the priority if the group is as it was at the decision.

        :param txn: see :class:`ovsdb.command.Command`
        :raises RuntimeError: with the reason, in place of a refusal, if the
            whole transaction has to fail
        """
        self.refused = ''
        owner, column, members = self._members()
        mine = [m for m in members
                if m.chassis_name == self.wanted.chassis]
        if not mine:
            self.refused = 'the candidate is gone'
        elif self._decided_on(members):
            command.verify(txn, owner, column)
            for member in members:
                command.verify(txn, member, 'priority')
            self._set(mine[0])
        else:
            self.refused = 'somebody has changed the priorities'
        if self.refused and self._whole:
            raise RuntimeError(self.refused)

    def _set(self, member):
        if member.priority != self.wanted.priority:
            member.priority = self.wanted.priority
        wanted = (self.wanted.drained, self.wanted.earlier)
        if marks.read(member) != wanted:
            member.verify('external_ids')
            member.external_ids = marks.marked(member.external_ids, *wanted)
        # The library only logs a value that the schema does not allow.
        if member.priority != self.wanted.priority:
            self.refused = f'OVN takes no priority {self.wanted.priority:d}'

    def _decided_on(self, members):
        """Whether the candidates have the priorities of the decision.

        A candidate may also have the priority that an earlier command of
        this transaction has given to the candidate.
        """
        now = {m.chassis_name: m.priority for m in members}
        after = dict(self.wanted.after)
        return now.keys() == self._before.keys() and all(
            now[name] in (priority, after.get(name, priority))
            for name, priority in self._before.items())

    def _members(self):
        """(row that has the candidates, its column, rows of the candidates).
        """
        table = ('Logical_Router_Port'
                 if self.wanted.table == 'Gateway_Chassis'
                 else self.wanted.table)
        owner = self.rows(table).get(uuid.UUID(self.wanted.group))
        if owner is None:
            return None, '', []
        if table == 'Logical_Router_Port':
            found, _owner, members = rows.members(owner)
            return (owner, 'gateway_chassis',
                    members if found == self.wanted.table else [])
        return owner, 'ha_chassis', owner.ha_chassis
