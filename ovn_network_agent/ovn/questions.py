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

"""Questions to the servers, and the comparison of answer and replica.

A question uses the connection that feeds the replica, and a server sends all
updates before the answer.  So at the moment of the answer, the answer and the
replica have to agree exactly.  Each question has ``operations`` to send.
"""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
import uuid

from ovn_network_agent import ownership
from ovn_network_agent.ovn import rounds
from ovn_network_agent.ovn import silence
from ovn_network_agent.ovsdb import columns
from ovn_network_agent.ovsdb.columns import Row
from ovn_network_agent.ovsdb.columns import Tables
from ovn_network_agent.ovsdb.columns import Uuid
from ovn_network_agent.ovsdb.question import Answers
from ovn_network_agent.ovsdb.question import Operation

# Table and UUID of a row.
_Place = tuple[str, Uuid]


def _select(table: str, *where: Sequence[Any],
            columns: Iterable[str] = ('_uuid',)) -> Operation:
    return {'op': 'select', 'table': table, 'where': list(where),
            'columns': list(columns)}


# The answer matters only for its moment; no chassis has this name.
MOMENT = [_select('Chassis', ['name', '==', ''])]


class Bound:
    """The question which ports of gateways are bound to a chassis.

    :param machines: whether to ask for all its ports, those of machines, too
    """

    def __init__(self, sb: Tables, chassis: str,
                 machines: bool = False) -> None:
        self._name, self._machines = chassis, machines
        self._uuids = _named(sb, chassis)
        kinds = [] if machines else [['type', '==', 'chassisredirect']]
        self.operations = [_select('Chassis', ['name', '==', chassis])]
        for each in self._uuids:
            self.operations.append(_select(
                'Port_Binding', *kinds,
                ['chassis', '==', ['uuid', str(each)]]))

    def wrong(self, answers: Answers, sb: Tables) -> str:
        """The first difference of the replica from the answers, or ''."""
        if _uuids(answers[0]) != _named(sb, self._name):
            return f'Chassis {self._name}'
        for each, answer in zip(self._uuids, answers[1:], strict=True):
            bound = {key for key, row in sb['Port_Binding'].items()
                     if (self._machines or row.type == 'chassisredirect') and
                     each in columns.referenced(row, 'chassis')}
            if _uuids(answer) != bound:
                kind = '' if self._machines else 'chassisredirect '
                return (f'Port_Binding, {len(answer)} {kind}rows on '
                        f'this chassis and not {len(bound)}')
        return ''


class Routers:
    """The question for the ports, NAT rows and load balancers of routers."""

    # From a table to the columns that decide about announcements.
    COLUMNS = {'Logical_Router': ('nat', 'ports', 'load_balancer',
                                  'load_balancer_group', 'external_ids',
                                  'options'),
               'Logical_Switch': ('name', 'external_ids'),
               'Load_Balancer': ('vips', 'external_ids', 'options'),
               'Load_Balancer_Group': ('load_balancer',),
               'Logical_Router_Port': ('name', 'networks', 'external_ids',
                                       'options'),
               'NAT': ('type', 'external_ip', 'logical_ip', 'external_mac',
                       'logical_port', 'external_ids', 'options'),
               'Gateway_Chassis': ('chassis_name', 'priority'),
               'HA_Chassis_Group': ('ha_chassis',),
               'HA_Chassis': ('chassis_name', 'priority')}

    def __init__(self, nb: Tables, routers: Iterable[str],
                 others: Iterable[_Place] = ()) -> None:
        self._rows = list(others)
        for router in sorted(uuid.UUID(text) for text in routers):
            self._rows.append(('Logical_Router', router))
            row = nb['Logical_Router'].get(router)
            if row is not None:
                self._rows += _had(nb, row)
        self._columns = {table: _columns(nb, table, self.COLUMNS[table])
                         for table in {table for table, _each in self._rows}}
        self.operations = [
            _select(table, ['_uuid', '==', ['uuid', str(each)]],
                    columns=('_uuid', *self._columns[table]))
            for table, each in self._rows]

    def wrong(self, answers: Answers, nb: Tables) -> str:
        """The first difference of the replica; see :meth:`Bound.wrong`."""
        for (table, each), answer in zip(self._rows, answers, strict=True):
            row: Row = nb[table].get(each)
            if bool(answer) != (row is not None):
                found = 'missing' if answer else 'there no more'
                return f'{table} {each} is {found}'
            column = answer and _differing(answer[0], row,
                                           self._columns[table])
            if column:
                return f'{table} {each}, column {column}'
        return ''


class AllRows:
    """The question for all rows that a replica has of some tables.

    :param compared: by table the columns to compare
    :param chosen: by table the clauses by which the replica was chosen
    """

    def __init__(self, compared: Mapping[str, tuple[str, ...]],
                 chosen: Mapping[str, Iterable[Sequence[Any]]]) -> None:
        self._columns = compared
        # A row is of the replica if one of the clauses is true.
        asked = [(table, where) for table in compared
                 for where in [[each] for each in chosen.get(table, ())] or
                 [[]]]
        self._asked = [table for table, _where in asked]
        self.operations = [
            _select(table, *where, columns=('_uuid', *compared[table]))
            for table, where in asked]

    def wrong(self, answers: Answers, tables: Tables) -> str:
        """The first difference of the replica; see :meth:`Bound.wrong`."""
        found: dict[str, dict[Uuid, Any]] = {
            table: {} for table in self._columns}
        for table, answer in zip(self._asked, answers, strict=True):
            found[table].update((uuid.UUID(row['_uuid'][1]), row)
                                for row in answer)
        for table, there in found.items():
            if there.keys() != tables[table].keys():
                return (f'{table}, {len(there)} rows and not '
                        f'{len(tables[table])}')
            for key, row in there.items():
                column = _differing(row, tables[table][key],
                                    self._columns[table])
                if column:
                    return f'{table} {key}, column {column}'
        return ''


class Whole(AllRows):
    """The question for all rows that decide about announcements."""

    TABLES = ('Logical_Router', 'Logical_Router_Port', 'NAT',
              'Load_Balancer', 'Load_Balancer_Group', 'Logical_Switch')

    def __init__(self, nb: Tables) -> None:
        super().__init__({table: _columns(nb, table, Routers.COLUMNS[table])
                          for table in self.TABLES if table in nb}, {})


class OfSources(AllRows):
    """A question, and the one for all rows of the tables of sources.

    :param first: the question
    :param chosen: see :class:`AllRows`, of each table
    """

    def __init__(self, first: rounds.Question, replica: Tables,
                 chosen: Mapping[str, Iterable[Sequence[Any]]]) -> None:
        super().__init__({table: _columns(replica, table)
                          for table in chosen if table in replica}, chosen)
        self._first = first
        self.operations = [*first.operations, *self.operations]

    def wrong(self, answers: Answers, tables: Tables) -> str:
        """See :meth:`Bound.wrong`."""
        count = len(self._first.operations)
        return (self._first.wrong(answers[:count], tables) or
                super().wrong(answers[count:], tables))


class Owners:
    """The question which chassis own some chassisredirect ports."""

    def __init__(self, ports: Sequence[str]) -> None:
        self._ports = ports
        self.operations = [_select('Chassis', columns=('_uuid', 'name'))]
        self.operations += [
            _select('Port_Binding', ['logical_port', '==', port],
                    columns=('chassis',)) for port in ports]

    def owners(self, answers: Answers) -> dict[str, str]:
        """By port the name of its chassis, '' without an owner."""
        chassis, *bindings = answers
        names = {row['_uuid'][1]: row['name'] for row in chassis}
        return {port: ''.join(names.get(row['chassis'][1], '')
                              for row in answer
                              if row['chassis'][0] == 'uuid')
                for port, answer in zip(self._ports, bindings, strict=True)}


class Tunnels:
    """The question for the state of BFD in OVN's tunnels."""

    def __init__(self, addresses: Collection[str]) -> None:
        self._addresses = addresses
        # The key 'flow' leaves out the agent's relays, which have numbers.
        self.operations = [_select(
            'Interface', ['options', 'includes', ['map', [
                ['remote_ip', address], ['key', 'flow']]]],
            columns=('bfd_status',)) for address in addresses]

    def statuses(self, answers: Answers) -> dict[str, list[dict[str, str]]]:
        """By address the column bfd_status of each tunnel with BFD."""
        return {address: [
            status for row in answer
            if 'state' in (status := dict(row['bfd_status'][1]))]
            for address, answer in zip(self._addresses, answers,
                                       strict=True)}


class AllChassis:
    """The question for the names and host names of all chassis."""

    operations = [_select('Chassis', columns=('name', 'hostname'))]

    def owners(self, answers: Answers) -> set[ownership.Owner]:
        """All chassis."""
        return {ownership.Owner(row['hostname'], row['name'])
                for row in answers[0]}


class Reports(AllChassis):
    """The question for all chassis and the nb_cfg that each has reported."""

    operations = [
        _select('Chassis', columns=('_uuid', 'name', 'hostname')),
        _select('Chassis_Private',
                columns=('name', 'nb_cfg', 'nb_cfg_timestamp')),
        _select('SB_Global', columns=('nb_cfg',)),
        _select('Port_Binding', ['type', '==', 'chassisredirect'],
                columns=('chassis',))]

    def facts(self, answers: Answers, own: str) -> silence.Facts:
        """The facts of an answer, for the chassis of that name."""
        chassis, reports, globals_, ports = answers
        bound = {row['chassis'][1] for row in ports
                 if row['chassis'][0] == 'uuid'}
        return silence.Facts(
            own, max((row['nb_cfg'] for row in globals_), default=0),
            {row['name']: row['hostname'] for row in chassis},
            {row['name']: (row['nb_cfg'], row['nb_cfg_timestamp'])
             for row in reports},
            frozenset(row['name'] for row in chassis
                      if row['_uuid'][1] in bound))


def has_router(nb: Tables, router: str) -> bool:
    """Whether a replica has the router with a UUID."""
    return uuid.UUID(router) in nb['Logical_Router']


def torn(nb: Tables, router: str) -> bool:
    """Whether a router refers to rows that the replica does not have.

    A server has each row that another row refers to, and these tables are
    replicated as a whole.  So a missing row is a fault of the replica.
    """
    row = nb['Logical_Router'][uuid.UUID(router)]
    return any(each not in nb[table] for table, each in _had(nb, row))


def _had(nb: Tables, router: Row) -> list[_Place]:
    """The rows that a Logical_Router refers to."""
    found = [(table, each)
             for column, table in (
                 ('nat', 'NAT'), ('ports', 'Logical_Router_Port'),
                 ('load_balancer', 'Load_Balancer'),
                 ('load_balancer_group', 'Load_Balancer_Group'))
             for each in columns.referenced(router, column)]
    for each in columns.referenced(router, 'load_balancer_group'):
        group = nb['Load_Balancer_Group'].get(each)
        found += [] if group is None else [
            ('Load_Balancer', member)
            for member in columns.referenced(group, 'load_balancer')]
    return found


def _columns(nb: Tables, table: str,
             wanted: Iterable[str] | None = None) -> tuple[str, ...]:
    """The wanted columns that the schema has; None for all in the replica.

    A row shows the columns.  A table without rows needs no comparison.
    """
    row = next(iter(nb[table].values()), None)
    if row is None:
        return ()
    return tuple(row._data if wanted is None else (
        column for column in wanted if column in row._data))


def torn_groups(nb: Tables) -> list[_Place]:
    """Rows that gateway groups refer to and that the replica lacks.

    The agent would outrank a candidate whose row is missing, or never drain
    the candidate.
    """
    return [(table, each)
            for owner, column, table in (
                ('Logical_Router_Port', 'gateway_chassis',
                 'Gateway_Chassis'),
                ('Logical_Router_Port', 'ha_chassis_group',
                 'HA_Chassis_Group'),
                ('HA_Chassis_Group', 'ha_chassis', 'HA_Chassis'))
            for row in nb.get(owner, {}).values()
            for each in columns.referenced(row, column)
            if each not in nb.get(table, {})]


def _named(sb: Tables, chassis: str) -> set[Uuid]:
    return {key for key, row in sb['Chassis'].items() if row.name == chassis}


def _uuids(answer: Sequence[Any]) -> set[Uuid]:
    return {uuid.UUID(row['_uuid'][1]) for row in answer}


def _differing(answer: Mapping[str, Any], row: Row,
               names: Iterable[str]) -> str:
    """The first column in which the answer and the replica differ, or ''."""
    for column in names:
        if _atoms(answer[column]) != _atoms(row._data[column].to_json()):
            return column
    return ''


def _atoms(value: Any) -> set[str]:
    """The members of a column's value in JSON; a single member has no set."""
    if isinstance(value, list) and value[0] in ('set', 'map'):
        return {str(member) for member in value[1]}
    return {str(value)}
