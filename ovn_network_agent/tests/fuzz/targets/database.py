# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A database as python-ovs has it, with any values of its types.

An input is JSON: {database: {table: [{column: value}]}}.  A reference is the
number of a row.  The types of the columns are those of the schemas; a value of
another type is made one of the type, as no server sends another.
"""

import json
import types
import typing
import uuid

_TEXT, _TEXTS, _MAYBE, _NUMBER, _NUMBERS, _MAP = (
    'text', 'texts', 'maybe', 'number', 'numbers', 'map')
_IDS = {'external_ids': _MAP}
_MEMBER = {'chassis_name': _TEXT, 'priority': _NUMBER, **_IDS}
# A table as a type is a set of references to its rows.
_SCHEMA = {
    'nb': {
        'NB_Global': {'options': _MAP, 'nb_cfg': _NUMBER, **_IDS},
        'Logical_Router': {
            'name': _TEXT, 'ports': ('Logical_Router_Port',),
            'nat': ('NAT',), 'options': _MAP, **_IDS,
            'static_routes': ('Logical_Router_Static_Route',),
            'policies': ('Logical_Router_Policy',),
            'load_balancer': ('Load_Balancer',),
            'load_balancer_group': ('Load_Balancer_Group',)},
        'Logical_Router_Port': {
            'name': _TEXT, 'mac': _TEXT, 'networks': _TEXTS, **_IDS,
            'options': _MAP, 'gateway_chassis': ('Gateway_Chassis',),
            'peer': _MAYBE,
            'ha_chassis_group': ('HA_Chassis_Group',)},
        'NAT': {'type': _TEXT, 'external_ip': _TEXT, 'logical_ip': _TEXT,
                'logical_port': _MAYBE, 'external_mac': _MAYBE, **_IDS,
                'options': _MAP, 'gateway_port': ('Logical_Router_Port',),
                'allowed_ext_ips': ('Address_Set',)},
        'Logical_Router_Static_Route': {
            'ip_prefix': _TEXT, 'nexthop': _TEXT, 'route_table': _TEXT,
            'output_port': _MAYBE, 'policy': _MAYBE, **_IDS},
        'Load_Balancer_Health_Check': {'vip': _TEXT},
        'Load_Balancer': {
            'vips': _MAP, 'options': _MAP, **_IDS, 'protocol': _MAYBE,
            'ip_port_mappings': _MAP,
            'health_check': ('Load_Balancer_Health_Check',)},
        'Load_Balancer_Group': {'load_balancer': ('Load_Balancer',)},
        'Gateway_Chassis': _MEMBER, 'HA_Chassis': _MEMBER,
        'HA_Chassis_Group': {'name': _TEXT, 'ha_chassis': ('HA_Chassis',),
                             **_IDS},
        'Logical_Switch': {'name': _TEXT, 'ports': ('Logical_Switch_Port',),
                           **_IDS},
        'Logical_Switch_Port': {
            'name': _TEXT, 'type': _TEXT, 'addresses': _TEXTS,
            'dynamic_addresses': _TEXTS, 'options': _MAP, **_IDS},
        'Port_Group': {'name': _TEXT, 'ports': ('Logical_Switch_Port',),
                       **_IDS},
        'DHCP_Options': {'cidr': _TEXT, 'options': _MAP, **_IDS},
        'Logical_Router_Policy': {
            'match': _TEXT, 'priority': _NUMBER, 'action': _TEXT, **_IDS,
            'nexthops': _TEXTS},
        'Address_Set': {'name': _TEXT, 'addresses': _TEXTS, **_IDS}},
    'sb': {
        'Chassis': {'name': _TEXT, 'hostname': _TEXT, **_IDS,
                    'other_config': _MAP, 'encaps': ('Encap',)},
        'SB_Global': {'nb_cfg': _NUMBER, 'options': _MAP},
        'Chassis_Private': {'name': _TEXT, 'nb_cfg': _NUMBER,
                            'nb_cfg_timestamp': _NUMBER},
        'Encap': {'chassis_name': _TEXT, 'type': _TEXT, 'ip': _TEXT,
                  'options': _MAP},
        'Datapath_Binding': {**_IDS},
        'HA_Chassis': {'chassis': ('Chassis',), 'priority': _NUMBER},
        'HA_Chassis_Group': {'ha_chassis': ('HA_Chassis',)},
        'Port_Binding': {
            'type': _TEXT, 'logical_port': _TEXT, 'options': _MAP, **_IDS,
            'datapath': 'Datapath_Binding', 'chassis': ('Chassis',),
            'nat_addresses': _TEXTS, 'tag': _NUMBERS, 'mac': _TEXTS,
            'port_security': _TEXTS, 'virtual_parent': _MAYBE,
            'ha_chassis_group': ('HA_Chassis_Group',)},
        'Service_Monitor': {
            'ip': _TEXT, 'port': _NUMBER, 'protocol': _MAYBE,
            'logical_port': _TEXT, 'status': _MAYBE}},
    'ovs': {
        'Open_vSwitch': {**_IDS},
        'Bridge': {'name': _TEXT, 'ports': ('Port',)},
        'Port': {'name': _TEXT, 'interfaces': ('Interface',), **_IDS,
                 'vlan_mode': _TEXTS, 'trunks': _NUMBERS,
                 'protected': _TEXT, 'other_config': _MAP},
        'Interface': {'name': _TEXT, 'ofport': _NUMBERS, 'type': _TEXT,
                      'bfd': _MAP, 'bfd_status': _MAP, 'options': _MAP,
                      'error': _MAYBE}}}
_INT = 1 << 63


class _Atom(typing.NamedTuple):
    """A value as python-ovs has it."""

    value: object


class _Table(typing.NamedTuple):
    """The table that a column refers to."""

    name: object


class _Key(typing.NamedTuple):
    """The type of the values of a column."""

    ref_table: _Table


class _Type(typing.NamedTuple):
    """The type of a column as python-ovs has it."""

    key: _Key


class NoInput(Exception):
    """Bytes that are no rows."""


class _Row(types.SimpleNamespace):
    """A row as python-ovs has it: columns are attributes."""

    def __hash__(self):
        return hash(self.uuid)

    def __eq__(self, other):
        return self.uuid == other.uuid

    def __lt__(self, other):
        return self.uuid < other.uuid

    def _uuid_to_row(self, key, kind):
        return self._tables[kind.ref_table.name].get(key)


def _text(value):
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode('utf-8', 'replace').decode().replace('\0', '')


def _number(value):
    return max(-_INT, min(_INT - 1, value)) if isinstance(value, int) else 0


def _many(value):
    return value if isinstance(value, list) else []


def _of_type(kind, value, tables):
    if kind == _TEXT:
        return _text(value)
    if kind == _NUMBER:
        return _number(value)
    if kind == _MAP:
        return {_text(key): _text(of) for key, of in value.items()} if (
            isinstance(value, dict)) else {}
    if kind in (_TEXTS, _MAYBE):
        found = sorted(set(map(_text, _many(value))))
        return found[:1] if kind == _MAYBE else found
    if kind == _NUMBERS:
        return sorted(set(map(_number, _many(value))))
    targets = list(tables[kind if isinstance(kind, str) else kind[0]].values())
    if isinstance(kind, str):
        return targets[_number(value) % len(targets)]
    return [targets[_number(one) % len(targets)]
            for one in _many(value) if targets]


def _database(number, name, content):
    """The rows of a database, dict of table to dict of UUID to row."""
    content = content if isinstance(content, dict) else {}
    given = {table: [row for row in _many(content.get(table))
                     if isinstance(row, dict)] for table in _SCHEMA[name]}
    if name == 'sb' and not given['Datapath_Binding']:
        given['Datapath_Binding'] = [{}]
    tables = {}
    for place, table in enumerate(_SCHEMA[name]):
        made = (_Row(uuid=uuid.UUID(int=number << 80 | place << 64 | index))
                for index in range(len(given[table])))
        tables[table] = {row.uuid: row for row in made}
    for table, columns in _SCHEMA[name].items():
        for row, values in zip(tables[table].values(), given[table],
                               strict=True):
            _fill(row, columns, values, tables)
            row._tables = tables
    return tables


def _fill(row, columns, values, tables):
    data = {}
    for column, kind in columns.items():
        value = _of_type(kind, values.get(column), tables)
        setattr(row, column, value)
        data[column] = types.SimpleNamespace(values=_atoms(value), type=_Type(
            _Key(_Table(kind[0] if isinstance(kind, tuple) else kind))))
    row._data = data


def _atoms(value):
    """A value as python-ovs keeps it, a dict of :class:`_Atom`."""
    if isinstance(value, dict):
        return {_Atom(key): _Atom(of) for key, of in value.items()}
    return {_Atom(getattr(each, 'uuid', each)): None for each in (
        value if isinstance(value, list) else [value])}


def databases(data):
    """(NB, SB, the local database) of an input.

    :raises NoInput: when it is none
    """
    try:
        given = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise NoInput from error
    given = given if isinstance(given, dict) else {}
    return [_database(number, name, given.get(name))
            for number, name in enumerate(_SCHEMA)]
