# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Rows of OVN and of Open vSwitch; see :mod:`database`."""

import errno
import json
import types

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
from ovn_network_agent.ovs import bridge_ports
from ovn_network_agent.ovs import drain_writer
from ovn_network_agent.ovs import wiring
from ovn_network_agent.ovsdb import rpc
from ovn_network_agent.tests.fuzz import peers
from ovn_network_agent.tests.fuzz.target import Target
from ovn_network_agent.tests.fuzz.targets import database
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world

_CHOICE = inputs.Choice(
    selection.Selection(exclude_routers=frozenset({'r9'}),
                        exclude_networks=frozenset({'n9'})),
    inputs.Machines(pairs=True, vnis=frozenset({('n8', 8)})),
    checks_backends=True)


_DEVICES = (cloud.node().devices)


def _view(data):
    """From the rows to what the drivers want, as a pass does it."""
    nb, sb, ovs = database.databases(data)
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
    nb, _sb, _ovs = database.databases(data)
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
        for each in driver.resources(alone[''], cloud.node()):
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
    nb, sb, _ovs = database.databases(data)
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
        for each in driver.resources(alone[''], cloud.node()):
            if isinstance(each, resources.EgressRows):
                egress_rows.wanted(each)
                assert each.nats


def _rows(data):
    """Each parser of one row, by itself."""
    nb, sb, ovs = database.databases(data)
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
            rows.marked_lowered(row.external_ids, *rows.lowered(row))
    for row in sb['Port_Binding'].values():
        rows.nat_addresses(row)
        rows.order(row)
    directory.read(nb, sb)
    for found in (bridge_ports.relays, bridge_ports.usable_relays):
        list(found(ovs))
    bridge_ports.relay_errors(ovs)


def _silence(data):
    _nb, sb, _ovs = database.databases(data)
    for own in {row.name for row in sb['Chassis'].values()}:
        facts = absent_chassis.read(sb, own, frozenset())
        absent_chassis.owners(facts, {
            *absent_chassis.behind(facts), *absent_chassis.outdated(facts, 3)})


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
            assert _alike(rpc.value(text), theirs)
        else:
            rpc.value(text)


def _cut(sent, size):
    """The objects of a stream in pieces of a size."""
    framer = rpc.Framer()
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
    Target('ovsdb.framing', _objects, (rpc.Malformed,),
           ('ovsdb.rpc',), words=(
               b'{', b'}', b'"', b'\\', b'[', b']', b'{"a": 1e2}', b'\\u00e9',
               b'\\ud83d\\ude00', b'{"id": null}', b', ', b': ')),
    Target('ovsdb.rpc', _received, (), ('ovsdb.rpc',), share=0.2, words=(
        b'{"id":', b'null', b'"method":"', b'"params":[', b'"result":',
        b'"error":', b'}', b']')),
    Target('ovn.view', _view, (database.NoInput, own_chassis.Unknown),
           ('ovn.snapshot', 'ovn.rows', 'ovn.cross_check',
            'ovn.subjects.routers', 'common.networks', 'ovn.subjects.vnis',
            'ovs.wiring', 'ovn.chassis.groups', 'ovn.subjects.segments'),
           json=True,
           values=('dnat_and_snat', 'snat', 'chassisredirect', 'patch',
                   'localnet', 'cr-lrp', '198.51.100.1/24', '0.0.0.0/0',
                   'is_chassis_resident("cr-lrp")')),
    Target('ovn.peering.peerings', _peerings, (database.NoInput,),
           ('ovn.peering.peerings', 'ovn.peering.peer_intents',
            'ovn.peering.peering_rows'), json=True,
           values=('ovn-network-agent:peer:a', '10.0.0.0/8',
                   'ovn-network-agent:peer-export:a')),
    Target('ovn.egress.egress', _egress, (database.NoInput,),
           ('ovn.egress.egress', 'ovn.egress.egress_routers',
            'ovn.egress.egress_selection', 'ovn.egress.egress_rows'),
           json=True,
           values=('router', 'router-port', 'lrp-1', '10.0.0.5',
                   'fa:16:3e:00:00:01 10.0.0.5', 'dynamic',
                   'ovn-network-agent-egress', 'chassisredirect',
                   'ovn-network-agent-egress-networks-gw1')),
    Target('ovn.rows', _rows, (database.NoInput,),
           ('ovn.rows', 'ovn.subjects.addresses', 'ovn.chassis.bfd',
            'ovn.rows', 'ovn.chassis.directory',
            'ovn.egress.egress_rows'), json=True,
           values=('bfd-min-rx=200 bfd-min-tx=200 bfd-mult=3', '32768')),
    Target('ovn.chassis.absent_chassis', _silence,
           (database.NoInput,), ('ovn.chassis.absent_chassis',),
           json=True, share=0.5),
    Target('ovs.drain_writer', _drains, (), ('ovs.drain_writer',),
           words=(b'all', b',', b'11111111-2222-4333-8444-555555555555')),
)
