# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Priorities of gateway candidates: reading them, and writing one."""

from collections.abc import Collection
from collections.abc import Iterator
from typing import Any
import uuid

from ovn_network_agent import resources
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn.writes import commands
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb import command
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import time_limits
from ovn_network_agent.ovsdb.columns import Row
from ovn_network_agent.ovsdb.columns import Rows
from ovn_network_agent.ovsdb.columns import Tables

# By the group's table: the table and column that have the candidates.
_OWNERS = {'Gateway_Chassis': ('Logical_Router_Port', 'gateway_chassis'),
           'HA_Chassis_Group': ('HA_Chassis_Group', 'ha_chassis')}


def gateway_priorities(nb: Tables, chassis: str,
                       groups: Collection[tuple[str, str]] | None = None
                       ) -> Iterator[resources.GatewayPriority]:
    """Priorities of all candidates in the groups of a chassis.

    :param groups: (table, UUID); None to search the whole database
    """
    seen = set()
    for table, owner, members in (
            map(rows.members, nb['Logical_Router_Port'].values())
            if groups is None else _groups(nb, groups)):
        names = [columns.atom(member, 'chassis_name') for member in members]
        if chassis not in names or owner.uuid in seen:
            continue
        seen.add(owner.uuid)
        for name, member in zip(names, members, strict=True):
            yield resources.GatewayPriority(
                table, str(owner.uuid), name,
                columns.atom(member, 'priority'),
                *rows.lowered(member))


def _groups(nb: Tables, groups: Collection[tuple[str, str]]
            ) -> Iterator[tuple[str, Row, list[Row]]]:
    for table, key in sorted(groups):
        yield table, *_group(nb[_OWNERS[table][0]], table, key)


def _group(owners: Rows, table: str, key: str) -> tuple[Row, list[Row]]:
    """A group's row, and its candidates; none of a port that has a group."""
    owner = owners.get(uuid.UUID(key))
    if owner is None:
        return None, []
    if table == 'HA_Chassis_Group':
        return owner, columns.rows(owner, 'ha_chassis')
    found, _owner, members = rows.members(owner)
    return owner, members if found == table else []


class SetPriority(commands.ResourceCommand[resources.GatewayPriority]):
    """Give one candidate of a group a priority and the mark for it.

    Refused unless all priorities are those of the decision, also by the
    server.

    :param whole: whether a refusal makes the whole transaction fail
    """

    def __init__(self, api: Any, wanted: resources.GatewayPriority,
                 whole: bool = False) -> None:
        super().__init__(api, wanted)
        self._whole = whole

    def run_idl(self, txn: Any) -> None:
        """Write the priority if the group is as it was at the decision.

        :raises RuntimeError: refused, if the whole transaction has to fail
        """
        self.refused = ''
        table, column = _OWNERS[self.resource.table]
        owner, members = _group(self.rows(table), self.resource.table,
                                self.resource.group)
        own = [m for m in members
               if m.chassis_name == self.resource.chassis]
        if not own:
            self.refused = 'the candidate is gone'
        elif self._decided_on({m.chassis_name: m.priority for m in members}):
            command.verify(txn, owner, column)
            for member in members:
                command.verify(txn, member, 'priority')
            self._set(own[0])
        else:
            self.refused = 'somebody has changed the priorities'
        if self.refused and self._whole:
            raise RuntimeError(self.refused)

    def _set(self, member: Row) -> None:
        if member.priority != self.resource.priority:
            member.priority = self.resource.priority
        wanted = (self.resource.drained, self.resource.earlier)
        if rows.lowered(member) != wanted:
            member.verify('external_ids')
            member.external_ids = rows.marked_lowered(
                member.external_ids, *wanted)
        # The library only logs a value that the schema does not allow.
        if member.priority != self.resource.priority:
            self.refused = f'OVN takes no priority {self.resource.priority:d}'

    def _decided_on(self, now: dict[str, int]) -> bool:
        """Whether the priorities are the decision's, or this transaction's."""
        before = dict(self.resource.before)
        after = dict(self.resource.after)
        return now.keys() == before.keys() and all(
            now[name] in (priority, after.get(name, priority))
            for name, priority in before.items())


class RestorePriorities(command.Command):
    """Give all candidates that an agent has lowered their earlier priority.

    Only for a cloud without agents; an agent would lower them again.
    """

    def run_idl(self, txn: Any) -> None:
        """Write the priorities, and remove the marks."""
        for table in ('Gateway_Chassis', 'HA_Chassis'):
            for row in self.rows(table).values():
                why, earlier = rows.lowered(row)
                if why:
                    command.verify(txn, row, 'priority')
                    row.verify('external_ids')
                    row.priority = earlier
                    row.external_ids = rows.marked_lowered(
                        row.external_ids, '', 0)


def restore(nb: connection.Database, timeout: int) -> None:
    """Have the server carry out :class:`RestorePriorities`.

    :param timeout: seconds
    :raises Exception: when the server refuses, or does not answer
    """
    ovsdb = nb.connection
    txn = time_limits.Transaction(
        time_limits.Api(ovsdb.idl), ovsdb, check_error=True,
        log_errors=False, timeout=timeout)
    txn.add(RestorePriorities(txn.api))
    txn.commit()


def restorable(nb: Tables) -> list[str]:
    """What :class:`RestorePriorities` would change, as text."""
    return [f'priority of {columns.atom(row, "chassis_name")} in {table} '
            f'{row.uuid}: {rows.lowered(row)[1]:d}'
            for table in ('Gateway_Chassis', 'HA_Chassis')
            for row in nb[table].values() if rows.lowered(row)[0]]
