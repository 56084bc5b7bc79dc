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

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from typing import Any
import uuid

from ovn_network_agent import resources
from ovn_network_agent.ovn import commands
from ovn_network_agent.ovn import marks
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb import command
from ovn_network_agent.ovsdb.columns import Row
from ovn_network_agent.ovsdb.columns import Tables

# Table, row that has the candidates, and their rows.
_Group = tuple[str, Row, list[Row]]


def gateway_priorities(nb: Tables, chassis: str,
                       groups: Collection[tuple[str, str]] | None = None
                       ) -> Iterator[resources.GatewayPriority]:
    """Priorities of all candidates in the groups of a chassis.

    :param groups: (table, UUID) of the groups to look at; None to search the
        whole database
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


def _all_groups(nb: Tables) -> Iterable[_Group]:
    return map(rows.members, nb['Logical_Router_Port'].values())


def _groups(nb: Tables, groups: Collection[tuple[str, str]]
            ) -> Iterator[_Group]:
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

    :param whole: whether a refusal makes the whole transaction fail
    """

    def __init__(self, api: Any, wanted: resources.GatewayPriority,
                 whole: bool = False) -> None:
        super().__init__(api)
        self.wanted = wanted
        self._whole = whole
        self._before = dict(wanted.before)

    def run_idl(self, txn: Any) -> None:
        """Write the priority if the group is as it was at the decision.

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

    def _set(self, member: Row) -> None:
        if member.priority != self.wanted.priority:
            member.priority = self.wanted.priority
        wanted = (self.wanted.drained, self.wanted.earlier)
        if marks.read(member) != wanted:
            member.verify('external_ids')
            member.external_ids = marks.marked(member.external_ids, *wanted)
        # The library only logs a value that the schema does not allow.
        if member.priority != self.wanted.priority:
            self.refused = f'OVN takes no priority {self.wanted.priority:d}'

    def _decided_on(self, members: Iterable[Row]) -> bool:
        """Whether the candidates have the priorities of the decision.

        A candidate may also have the priority that an earlier command of
        this transaction has given to the candidate.
        """
        now = {m.chassis_name: m.priority for m in members}
        after = dict(self.wanted.after)
        return now.keys() == self._before.keys() and all(
            now[name] in (priority, after.get(name, priority))
            for name, priority in self._before.items())

    def _members(self) -> tuple[Row, str, list[Row]]:
        """The row that has the candidates, its column, and their rows."""
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
