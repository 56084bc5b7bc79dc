# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A small OVN with routers and machines, and the source of egress addresses.
"""

import json
import textwrap
import types
import uuid

from ovn_network_agent import ownership
from ovn_network_agent.ovn.egress import egress
from ovn_network_agent.ovn.egress import egress_file
from ovn_network_agent.ovn.egress import egress_routers
from ovn_network_agent.tests.unit.ovn import atoms
from ovn_network_agent.tests.unit.ovn import peers

FILE = '/etc/egress.yaml'
SELECT = ownership.EXT_ID_EGRESS_SELECT


def parsed(text):
    return egress_file.parse(textwrap.dedent(text).encode(), FILE)


def uuid_of(name):
    """A UUID for a short name, the same each time."""
    return uuid.uuid5(uuid.NAMESPACE_DNS, name)


def marks(name, address='', chassis=''):
    """external_ids of a NAT row of an egress address.

    :param chassis: of mode host, with the address that it translates to
    """
    return {ownership.EXT_ID_MANAGED: ownership.EXT_ID_MANAGED_VALUE,
            ownership.EXT_ID_EGRESS: name, **({
                ownership.EXT_ID_EGRESS_CHASSIS: chassis,
                ownership.EXT_ID_EGRESS_ADDRESS: address} if chassis else {})}


class Cloud(atoms.Tables):
    """Routers r1, ... with a provider port and a network n1, ... each."""

    def __init__(self):
        self.columns = {}
        self.file_ = types.SimpleNamespace(rows={}, reasons=())
        self.probes = types.SimpleNamespace(rows={}, reasons=())
        super().__init__(egress.EgressIps(), {
            egress_file.TABLE: self.file_, egress_routers.TABLE: self.probes})
        self.put('NB_Global', 'global', external_ids={})

    def put(self, table, name, /, **columns):
        """A row by a short name, changed; without columns, one that is gone.
        """
        known = self.columns.pop((table, name), {})
        if columns:
            columns = self.columns[table, name] = {**known, **columns}
        self.set(table, uuid_of(name), columns)
        return uuid_of(name)

    def has(self, table, name, column):
        return self.columns.get((table, name), {}).get(column, [])

    def router(self, name, /, *inner, uplinks=('198.51.100.1/24',), **columns):
        """A router, its ports lrp-<name>-..., and its network n-<name>."""
        ports = [self.put(
            'Logical_Router_Port', f'lrp-{name}-up{number}',
            name=f'lrp-{name}-up{number}', networks=[net], mac='',
            gateway_chassis=[peers.key(9)], external_ids={})
            for number, net in enumerate(uplinks)]
        ports.append(self.put(
            'Logical_Router_Port', f'lrp-{name}-in', name=f'lrp-{name}-in',
            networks=list(inner), mac='',
            external_ids={'neutron:subnet_ids': f'subnet-{name}'}))
        self.put('Logical_Router', name, **{
            'name': f'neutron-{uuid_of(name + "neutron")}', 'ports': ports,
            'external_ids': {'neutron:router_name': name}, 'options': {},
            'nat': [], 'static_routes': [], **columns})
        leading = self.put('Logical_Switch_Port', f'to-{name}',
                           name=f'to-{name}', type='router', addresses=[],
                           options={'router-port': f'lrp-{name}-in'},
                           external_ids={})
        self.put('Logical_Switch', f'n-{name}', name=f'neutron-n-{name}',
                 ports=[leading], external_ids={})
        return str(uuid_of(name))

    def machine(self, name, router, /, *addresses, **columns):
        """A port in the network of a router."""
        made = self.put('Logical_Switch_Port', name, **{
            'name': name, 'type': '', 'options': {}, 'external_ids': {},
            'addresses': [' '.join(['fa:16:3e:00:00:01', *addresses])],
            **columns})
        ports = self.has('Logical_Switch', f'n-{router}', 'ports')
        self.put('Logical_Switch', f'n-{router}', ports=[*{*ports, made}])
        return made

    def nat(self, name, router, **columns):
        made = self.put('NAT', name, **{
            'type': 'snat', 'external_ids': {}, 'external_ip': '192.0.2.99',
            'logical_ip': '', **columns})
        self.put('Logical_Router', router, nat=[
            *self.has('Logical_Router', router, 'nat'), made])

    def ours(self, name, router, egress_name, address, machine='10.0.0.1',
             chassis='', port=''):
        """A row of an egress address."""
        self.nat(name, router, logical_ip=machine,
                 external_ids=marks(egress_name, address, chassis),
                 external_ip=machine if chassis else address)

    def node(self, chassis, *published, failed='', gateways=()):
        """A chassis, with what its agent has published."""
        self.put('Chassis', chassis, name=chassis, hostname=f'{chassis}.host')
        words = {**self.has('NB_Global', 'global', 'external_ids')}
        if published:
            words[ownership.EXT_ID_EGRESS_NETWORKS + chassis] = ' '.join(
                published)
        self.probes.rows = {key: row for key, row in self.probes.rows.items()
                            if key != chassis}
        if failed:
            self.probes.rows[chassis] = egress_routers.Unreachable(
                chassis, failed)
        self.put('NB_Global', 'global', external_ids=words)
        for router in gateways:
            self.put('Port_Binding', f'cr-{router}', type='chassisredirect',
                     logical_port=f'cr-lrp-{router}-up0',
                     chassis=[uuid_of(chassis)])

    def file(self, *objects):
        """Another content of the file: an object by its keys."""
        content = egress_file.parse(
            json.dumps({'egress_ips': objects}).encode(), FILE)
        assert not content.flaws, content.flaws
        self.file_.rows = content.rows

    def look(self, whole=False):
        """The subjects by name."""
        found = self.subjects(whole)
        assert not self.made.problems, self.made.problems
        return {each.name: each for alone in found.values()
                for each in alone.values()}

    def machines(self, name='a'):
        """(port, address) of the machines that leave, sorted."""
        return sorted((each.port, each.address)
                      for each in self.look()[name].machines if not each.why)

    def places(self, name='a'):
        """(place, address or reason) of one object."""
        return [(each.chassis or each.port or each.called.split(' ')[0],
                 each.address or each.why)
                for each in self.look()[name].places]
