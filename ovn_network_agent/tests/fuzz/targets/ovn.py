# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Rows of OVN and of Open vSwitch, with any values of their types.

An input is JSON: {database: {table: [{column: value}]}}.  A reference is the
number of a row.  The types of the columns are those of the schemas; a value of
another type is made one of the type, as no server sends another.
"""

import errno
import json
import types
import typing
import uuid

from ovs import json as ovs_json
from ovs import jsonrpc
from ovs import poller
from ovs import stream

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.engine import contributions
from ovn_network_agent.model import selection
from ovn_network_agent.ovn import inputs
from ovn_network_agent.ovn import rows
from ovn_network_agent.ovn import snapshot
from ovn_network_agent.ovn import sources
from ovn_network_agent.ovn.chassis import absent_chassis
from ovn_network_agent.ovn.chassis import bfd
from ovn_network_agent.ovn.chassis import directory
from ovn_network_agent.ovn.chassis import own_chassis
from ovn_network_agent.ovn.egress import egress
from ovn_network_agent.ovn.egress import egress_file
from ovn_network_agent.ovn.egress import egress_rows
from ovn_network_agent.ovn.peering import peering_rows
from ovn_network_agent.ovn.peering import peerings
from ovn_network_agent.ovn.subjects import addresses
from ovn_network_agent.ovn.writes import lowered_priority
from ovn_network_agent.ovs import drain_writer
from ovn_network_agent.ovs import relay
from ovn_network_agent.ovs import wiring
from ovn_network_agent.ovsdb import framing
from ovn_network_agent.ovsdb import rpc
from ovn_network_agent.tests.fuzz import peers
from ovn_network_agent.tests.fuzz.target import Target
from ovn_network_agent.tests.unit import world

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
_CHOICE = inputs.Choice(
    selection.Selection(exclude_routers=frozenset({'r9'}),
                        exclude_networks=frozenset({'n9'})),
    inputs.Machines(pairs=True, vnis=frozenset({('n8', 8)})),
    checks_backends=True)


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
        data[column] = types.SimpleNamespace(
            values=_atoms(value), type=_Type(_Key(_Table(
                kind[0] if isinstance(kind, tuple) else kind))))
    row._data = data


def _atoms(value):
    """A value as python-ovs keeps it, a dict of :class:`_Atom`."""
    if isinstance(value, dict):
        return {_Atom(key): _Atom(of) for key, of in value.items()}
    return {_Atom(getattr(each, 'uuid', each)): None for each in (
        value if isinstance(value, list) else [value])}


def _databases(data):
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


_DEVICES = (world.node().devices)


def _view(data):
    """From the rows to what the drivers want, as a pass does it."""
    nb, sb, ovs = _databases(data)
    here = wiring.read(ovs, _DEVICES)
    builder = snapshot.Builder('', _CHOICE)
    for phase in (model.Phase.RUNNING, model.Phase.DRAINING):
        seen = builder.complete(builder.build(nb, sb, here, {}, phase,
                                              full=True))
    absent_chassis.hosts(builder)
    proof = builder.cross_check(frozenset())
    subjects = frozenset(
        f'{address}/32' for address in builder._rows.index(
            'nb', 'NAT', 'address').keys())
    list(proof.doubts(subjects))
    for subject in subjects:
        proof.elsewhere(subject)
    # A change of every row.
    for name, tables in (('nb', nb), ('sb', sb)):
        again = builder.complete(builder.build(nb, sb, here, {
            (name, table): set(found) for table, found in tables.items()},
            model.Phase.DRAINING))
        assert again == seen
    _drivers(seen)


def _drivers(seen):
    for conf, drivers in _CONFIGURED:
        for driver in drivers:
            wanted = list(driver.resources(seen.node, seen.node))
            for router in seen.routers:
                wanted += _of_router(
                    driver, (router, *seen.addresses[router.uuid].values()),
                    seen.node)
            for subject in (*seen.groups, *seen.networks.values(), *(
                    each for known in seen.machines.values()
                    for each in known.values())):
                if type(subject) in driver.SUBJECTS:
                    wanted += driver.resources(subject, seen.node)
            for resource in wanted:
                _check(conf, resource)


def _of_router(driver, subjects, node):
    """What a driver wants for a router and its addresses, a list."""
    wanted = [each for subject in subjects
              if type(subject) in driver.SUBJECTS
              for each in driver.resources(subject, node)]
    contributions.merged(each for each in wanted
                         if isinstance(each, resources.Problem))
    return [*wanted, *filter(None, (
        contributions.complete(each, wanted) for each in wanted
        if isinstance(each, resources.Advertised)))]


def _check(conf, resource):
    """No row can make the agent want something that takes all traffic."""
    hash(resource.ref)
    if isinstance(resource, resources.KernelRoute):
        everything = resource.dst.endswith('/0')
        assert not everything or resource.table == (
            conf.veth_leak.veth_leak_table_id), resource
    if isinstance(resource, resources.Rule):
        assert resource.src or resource.dst or resource.iif or (
            resource.fwmark), resource
        for prefix in (resource.src, resource.dst):
            assert not (prefix or '').endswith('/0'), resource


def _configured(**values):
    conf = world.conf(evpn__local_ip='192.0.2.1', **values)
    return conf, [world.driver(name, conf) for name in (
        'fip_route', 'veth_leak', 'gateway_drain', 'provider_port',
        'evpn')]


_CONFIGURED = [_configured(), _configured(frr__vrf_name='vrf-provider')]


def _peerings(data):
    """From intents to the rows of peerings, twice, and equal at both ends."""
    nb, _sb, _ovs = _databases(data)
    found = sources.Sources([peerings.Peerings()])
    subjects = found.update({'nb': nb}, {}, True)
    again = found.update({'nb': nb}, {
        ('nb', table): set(known) for table, known in nb.items()}, False)
    assert not found.problems and again == subjects
    there = [each.pair for each in peering_rows.read(nb)]
    assert len(there) == len(set(there))
    conf = world.conf()
    driver = world.driver('network_peer', conf)
    wanted = {}
    for alone in subjects[model.Peering].values():
        assert alone[''].why.isprintable() and alone[''].name.isprintable()
        for each in driver.resources(alone[''], world.node()):
            if isinstance(each, resources.Peering):
                assert wanted.setdefault(each.pair, each) == each


# Objects of all modes, with all ways to select.
_EGRESS = egress_file.parse(json.dumps({'egress_ips': [
    {'name': 'a', 'addresses': ['198.51.100.3'], 'mode': 'host',
     'select': {'ports': ['p1'], 'port_group': 'g1'}, 'gateways': ['gw1']},
    {'name': 'b', 'addresses': ['198.51.100.5', '203.0.113.5'],
     'mode': 'ecmp', 'select': {'network': 'n1', 'cidrs': ['10.0.0.7']},
     'destinations': ['192.0.2.0/24']},
    {'name': 'c', 'addresses': ['198.51.100.1', '2001:db8::1'],
     'select': {'router': 'r1'}},
    {'name': 'd', 'addresses': ['198.51.100.4'],
     'select': {'subnet': 's1'}}]}).encode(), 'egress.yaml')


def _egress(data):
    """From machines to the rows of egress addresses, twice, and equal."""
    nb, sb, _ovs = _databases(data)
    found = sources.Sources([egress.EgressIps()], {
        egress_file.TABLE: types.SimpleNamespace(
            rows=_EGRESS.rows, reasons=())})
    databases = {'nb': nb, 'sb': sb}
    subjects = found.update(databases, {}, True)
    again = found.update(databases, {
        (name, table): set(known) for name, tables in databases.items()
        for table, known in tables.items()}, False)
    assert not found.problems and again == subjects, found.problems
    keys = [each.key for each in egress_rows.read(nb)]
    assert len(keys) == len(set(keys))
    driver = world.driver('egress_ip', world.conf())
    for alone in subjects[model.EgressIp].values():
        places = [(each.address, each.chassis or each.port or each.router)
                  for each in alone[''].places if each.address]
        assert len({each for each, _key in places}) == len(set(places))
        for each in driver.resources(alone[''], world.node()):
            if isinstance(each, resources.EgressRows):
                egress_rows.wanted(each)
                assert each.nats


def _rows(data):
    """Each parser of one row, by itself."""
    nb, sb, ovs = _databases(data)
    for row in nb['NAT'].values():
        try:
            addresses.nat(row, bool)
        except ValueError as error:
            assert str(row.uuid) in str(error)
    for row in nb['Load_Balancer'].values():
        rows.merged(rows.balanced(row)[0])
        rows.vip_keys(row)
    for row in nb['NB_Global'].values():
        fleet = bfd.read(row)
        bfd.in_the_way(fleet)
        assert fleet.decided() == fleet.decided().decided()
        bfd.external_ids(row.external_ids, fleet)
        egress_rows.read_networks(row)
    for table in ('Gateway_Chassis', 'HA_Chassis'):
        for row in nb[table].values():
            lowered_priority.marked(row.external_ids,
                                    *lowered_priority.read(row))
    for row in sb['Port_Binding'].values():
        rows.nat_addresses(row)
        rows.order(row)
    directory.read(nb, sb)
    for found in (relay.ports, relay.usable):
        list(found(ovs))
    relay.errors(ovs)


def _silence(data):
    _nb, sb, _ovs = _databases(data)
    for own in {row.name for row in sb['Chassis'].values()}:
        facts = absent_chassis.read(sb, own, frozenset())
        absent_chassis.owners(
            facts, {*absent_chassis.behind(facts),
                    *absent_chassis.outdated(facts, 3)})


def _drains(data):
    wish, _problems = drain_writer.parse(data.decode('utf-8', 'replace'))
    assert drain_writer.parse(drain_writer.render(wish)) == (wish, ())


def _objects(data):
    """The first byte is the size of the pieces of a stream."""
    size, sent = 1 + sum(data[:1]), data[1:]
    whole = _cut(sent, len(sent) + 1)
    assert _cut(sent, size) == whole
    for text in whole:
        try:
            theirs = ovs_json.from_string(text.decode())
        except ValueError as error:
            # Also a number with too many digits.
            theirs = str(error)
        if isinstance(theirs, dict):
            assert _alike(framing.value(text), theirs)
        else:
            framing.value(text)


def _cut(sent, size):
    """The objects of a stream in pieces of a size."""
    framer = framing.Framer()
    return [text for start in range(0, len(sent), size)
            for text in framer.feed(sent[start:start + size])]


def _received(data):
    """What a server sends, as the replica receives it."""
    with peers.speaking(data, 'replica.sock') as path:
        _error, opened = stream.Stream.open_block(
            stream.Stream.open('unix:' + path))
        connection = rpc.Connection(opened)
        error = 0
        while error in (0, errno.EAGAIN):
            error, message = connection.recv()
            assert error or isinstance(message, jsonrpc.Message)
            if error == errno.EAGAIN:
                waiting = poller.Poller()
                connection.recv_wait(waiting)
                waiting.block()
        connection.close()


def _alike(ours, theirs):
    """Whether two values are equal; numbers may be of different types."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(
            _alike(ours[name], theirs[name]) for name in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(_alike, ours, theirs))
    if isinstance(ours, (int, float)) and isinstance(theirs, (int, float)):
        return float(ours) == float(theirs)
    return type(ours) is type(theirs) and ours == theirs


TARGETS = (
    Target('ovsdb.framing', _objects, (framing.Malformed,),
           ('ovsdb.framing',), words=(
               b'{', b'}', b'"', b'\\', b'[', b']', b'{"a": 1e2}', b'\\u00e9',
               b'\\ud83d\\ude00', b'{"id": null}', b', ', b': ')),
    Target('ovsdb.rpc', _received, (), ('ovsdb.rpc',), share=0.2, words=(
        b'{"id":', b'null', b'"method":"', b'"params":[', b'"result":',
        b'"error":', b'}', b']')),
    Target('ovn.view', _view, (NoInput, own_chassis.Unknown),
           ('ovn.snapshot', 'ovn.rows', 'ovn.cross_check',
            'ovn.subjects.routers', 'common.networks', 'ovn.subjects.vnis',
            'ovs.wiring', 'ovn.chassis.groups', 'ovn.subjects.segments'),
           json=True,
           values=('dnat_and_snat', 'snat', 'chassisredirect', 'patch',
                   'localnet', 'cr-lrp', '198.51.100.1/24', '0.0.0.0/0',
                   'is_chassis_resident("cr-lrp")')),
    Target('ovn.peering.peerings', _peerings, (NoInput,),
           ('ovn.peering.peerings', 'ovn.peering.peer_intents',
            'ovn.peering.peering_rows'), json=True,
           values=('ovn-network-agent:peer:a', '10.0.0.0/8',
                   'ovn-network-agent:peer-export:a')),
    Target('ovn.egress.egress', _egress, (NoInput,),
           ('ovn.egress.egress', 'ovn.egress.egress_routers',
            'ovn.egress.egress_selection', 'ovn.egress.egress_rows'),
           json=True,
           values=('router', 'router-port', 'lrp-1', '10.0.0.5',
                   'fa:16:3e:00:00:01 10.0.0.5', 'dynamic',
                   'ovn-network-agent-egress', 'chassisredirect',
                   'ovn-network-agent-egress-networks-gw1')),
    Target('ovn.rows', _rows, (NoInput,),
           ('ovn.rows', 'ovn.subjects.addresses', 'ovn.chassis.bfd',
            'ovn.writes.lowered_priority', 'ovn.chassis.directory',
            'ovn.egress.egress_rows'), json=True,
           values=('bfd-min-rx=200 bfd-min-tx=200 bfd-mult=3', '32768')),
    Target('ovn.chassis.absent_chassis', _silence,
           (NoInput,), ('ovn.chassis.absent_chassis',),
           json=True, share=0.5),
    Target('ovs.drain_writer', _drains, (), ('ovs.drain_writer',),
           words=(b'all', b',', b'11111111-2222-4333-8444-555555555555')),
)
