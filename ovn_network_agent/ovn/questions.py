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

"""What the servers are asked, and whether a replica says the same.

A question is asked and answered on the connection that feeds the replica,
and a server sends all updates before an answer.  So at the moment of the
answer both have to agree exactly.
"""

import uuid

from ovn_network_agent.ovn import silence
from ovn_network_agent.ovsdb import columns


class Gateways:
    """Which gateway ports are bound to a chassis.

    :param sb: dict of table name to dict of UUID to row
    :param chassis: name of the chassis
    :ivar operations: what to send, see :meth:`replica.Idl.ask`
    """

    def __init__(self, sb, chassis):
        self._name = chassis
        self._uuids = _named(sb, chassis)
        self.operations = [_select('Chassis', ['name', '==', chassis])]
        for each in self._uuids:
            self.operations.append(_select(
                'Port_Binding', ['type', '==', 'chassisredirect'],
                ['chassis', '==', ['uuid', str(each)]]))

    def wrong(self, answers, sb):
        """What the replica has wrong, '' when nothing.

        :param answers: list of lists of rows, one for each operation
        :param sb: the replica at this moment
        """
        if _uuids(answers[0]) != _named(sb, self._name):
            return f'Chassis {self._name}'
        for each, answer in zip(self._uuids, answers[1:], strict=True):
            bound = {key for key, row in sb['Port_Binding'].items()
                     if row.type == 'chassisredirect' and
                     each in columns.referenced(row, 'chassis')}
            if _uuids(answer) != bound:
                return (f'Port_Binding, {len(answer)} chassisredirect rows on '
                        f'this chassis and not {len(bound)}')
        return ''


class Routers:
    """What routers have: their ports, NAT rows and load balancers.

    :param nb: dict of table name to dict of UUID to row
    :param routers: UUIDs of the routers, text
    :param others: further rows to ask for, (table, UUID) pairs
    :ivar operations: what to send, see :meth:`replica.Idl.ask`
    """

    # Table, and the columns that decide what is announced.
    COLUMNS = {'Logical_Router': ('nat', 'ports', 'load_balancer',
                                  'load_balancer_group'),
               'Load_Balancer': ('vips',),
               'Load_Balancer_Group': ('load_balancer',),
               'Logical_Router_Port': ('name', 'networks'),
               'NAT': ('type', 'external_ip'),
               'Gateway_Chassis': ('chassis_name', 'priority'),
               'HA_Chassis_Group': ('ha_chassis',),
               'HA_Chassis': ('chassis_name', 'priority')}

    def __init__(self, nb, routers, others=()):
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

    def wrong(self, answers, nb):
        """What the replica has wrong, '' when nothing; see Gateways."""
        for (table, each), answer in zip(self._rows, answers, strict=True):
            row = nb[table].get(each)
            if bool(answer) != (row is not None):
                found = 'missing' if answer else 'there no more'
                return f'{table} {each} is {found}'
            for column in self._columns[table] if answer else ():
                if _atoms(answer[0][column]) != _atoms(
                        row._data[column].to_json()):
                    return f'{table} {each}, column {column}'
        return ''


class Owners:
    """Which chassis gateway ports are bound to.

    :param ports: list of names of chassisredirect ports
    :ivar operations: what to send, see :meth:`replica.Idl.ask`
    """

    def __init__(self, ports):
        self._ports = ports
        self.operations = [_select('Chassis', columns=('_uuid', 'name'))]
        self.operations += [
            _select('Port_Binding', ['logical_port', '==', port],
                    columns=('chassis',)) for port in ports]

    def owners(self, answers):
        """dict of port to name of its chassis, '' when it has none.

        :param answers: list of lists of rows, one for each operation
        """
        chassis, *bindings = answers
        names = {row['_uuid'][1]: row['name'] for row in chassis}
        return {port: ''.join(names.get(row['chassis'][1], '')
                              for row in answer
                              if row['chassis'][0] == 'uuid')
                for port, answer in zip(self._ports, bindings, strict=True)}


class Tunnels:
    """How BFD is in OVN's own tunnels.

    :param addresses: IP addresses of the other ends, text
    :ivar operations: what to send, see :meth:`replica.Idl.ask`
    """

    def __init__(self, addresses):
        self._addresses = addresses
        # Relays of the agent have keys of their own.
        self.operations = [_select(
            'Interface', ['options', 'includes', ['map', [
                ['remote_ip', address], ['key', 'flow']]]],
            columns=('bfd_status',)) for address in addresses]

    def statuses(self, answers):
        """dict of address to list of dict, those where BFD has a state.

        :param answers: list of lists of rows, one for each operation
        """
        return {address: [
            status for row in answer
            if 'state' in (status := dict(row['bfd_status'][1]))]
            for address, answer in zip(self._addresses, answers,
                                       strict=True)}


class Hostnames:
    """Which hosts are there.

    :ivar operations: what to send, see :meth:`replica.Idl.ask`
    """

    operations = [{'op': 'select', 'table': 'Chassis', 'where': [],
                   'columns': ['hostname']}]

    def hostnames(self, answers):
        """The host names of all chassis, a set.

        :param answers: list of lists of rows, one for each operation
        """
        return {row['hostname'] for row in answers[0]}


class Reports(Hostnames):
    """Which hosts are there, and who of them keeps up.

    :ivar operations: what to send, see :meth:`replica.Idl.ask`
    """

    operations = [
        {'op': 'select', 'table': table, 'where': where, 'columns': columns}
        for table, where, columns in (
            ('Chassis', [], ['_uuid', 'name', 'hostname']),
            ('Chassis_Private', [], ['name', 'nb_cfg', 'nb_cfg_timestamp']),
            ('SB_Global', [], ['nb_cfg']),
            ('Port_Binding', [['type', '==', 'chassisredirect']],
             ['chassis']))]

    def facts(self, answers, own):
        """:class:`silence.Facts` of an answer.

        :param answers: list of lists of rows, one for each operation
        :param own: name of this chassis
        """
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


def has_router(nb, router):
    """Whether a replica has a router.

    :param router: UUID, text
    """
    return uuid.UUID(router) in nb['Logical_Router']


def torn(nb, router):
    """Whether a router refers to rows that the replica does not have.

    A server never has that: these tables are replicated as a whole, and it
    keeps references whole.

    :param router: UUID, text
    """
    row = nb['Logical_Router'][uuid.UUID(router)]
    return any(each not in nb[table] for table, each in _had(nb, row))


def _had(nb, router):
    """What a row of Logical_Router refers to, a list of (table, UUID)."""
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


def _columns(nb, table, wanted):
    """Those of the columns that the schema has.

    A table without rows tells nothing, and there is nothing to compare.
    """
    row = next(iter(nb[table].values()), None)
    return () if row is None else tuple(
        column for column in wanted if column in row._data)


def torn_groups(nb):
    """What gateway groups refer to and the replica does not have.

    A candidate that is not seen would be outranked, or never be drained.

    :returns: list of (table, UUID)
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


def _named(sb, chassis):
    return {key for key, row in sb['Chassis'].items() if row.name == chassis}


def _select(table, *where, columns=('_uuid',)):
    return {'op': 'select', 'table': table, 'where': list(where),
            'columns': list(columns)}


def _uuids(answer):
    return {uuid.UUID(row['_uuid'][1]) for row in answer}


def _atoms(value):
    """The members of a column's value in JSON; one alone has no set."""
    if isinstance(value, list) and value[0] in ('set', 'map'):
        return {str(member) for member in value[1]}
    return {str(value)}
