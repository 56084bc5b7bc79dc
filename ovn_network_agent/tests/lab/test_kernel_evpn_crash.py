# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""SIGKILL within the changes of VNIs.

Needs nothing of the lab but its kernel; the rest is as in
functional.crash.test_boundaries.  A machine of a third VNI has traffic.
"""

import json
import os
import re

from ovn_network_agent import ownership
from ovn_network_agent.model import evpn_names
from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests import needs
from ovn_network_agent.tests.functional.crash import program
from ovn_network_agent.tests.functional.crash import test_boundaries
from ovn_network_agent.tests.functional.migrate import places
from ovn_network_agent.tests.functional.migrate import probes
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

# VNIs, each with a VLAN and a network of its own; the first one stays.
VLANS = {1001: 201, 1002: 202, 1003: 203}
STAYS, *COME = VLANS
NET, GATEWAY, MACHINE = '192.168.50.0/24', '192.168.50.1', '192.168.50.10'
NET6, MACHINE6 = '2001:db8:50::/64', '2001:db8:50::10'
MAC = 'fa:16:3e:00:50:10'
_BGP = ('router bgp 65001', 'address-family l2vpn evpn')
_SYSCTLS = ('forwarding', 'proxy_arp')
# In lines about what a VNI has.
_OF_VNI = re.compile(r'\b(vrf|ovs|vxlan|br-\d|1100:|fd6f:|100\.64\.)')


@needs.needs(os.environ.get('LAB_MACHINE'), 'needs a kernel with VRFs')
class VniBoundaryTest(test_boundaries.BoundaryTest):
    """Two VNIs with the addresses of the third come and go."""

    OPTIONS = ('drivers = fip_route,port_forward,evpn\n'
               f'[evpn]\nlocal_ip = {places.NODE}\n'
               '[provider_port]\nrouter_advertisements = true\n'
               # The rules of VNIs come first.
               '[fip_route]\nroute_rule_priority = 1200\n')
    # The backends that functional.crash.test_boundaries leaves out, each with
    # the victims of a death within its changes.
    OF_VNIS = {'evpn_instance': ('agent', 'frr'),
               'vni_devices': ('agent', 'kernel'), 'vni_port': ('agent',)}
    OTHERS = ('neighbour', 'neighbour_proxy', 'router_advertisement')

    # Shown by functional.crash.test_boundaries.
    test_the_first_passes = None

    def setUp(self):
        super().setUp()
        self.host.configure(*_BGP, 'advertise-all-vni')
        self.addCleanup(self.host.configure, *_BGP, 'no advertise-all-vni')
        self.nb.transact(*(ovsdb.insert(
            'DHCP_Options', cidr=cidr, options=ovsdb.ovsdb_dict(options))
            for cidr, options in ((NET, {'router': GATEWAY}), (NET6, {}))))
        self.networks = {vni: self.add_network(vni, vlan)
                         for vni, vlan in VLANS.items()}
        self.inside = self.add_namespace()
        self.add_machines(STAYS)
        self.bare = self.state()

    def add_network(self, vni, vlan):
        """A network with a VNI, and its patch port; gives its datapath."""
        localnet, bridge = f'provnet-{vni:d}', f'int-{vni:d}'
        datapath = self.cloud.add_network()
        self.sb.transact(ovsdb.insert(
            'Port_Binding', logical_port=localnet, type='localnet',
            datapath=datapath, tunnel_key=1, tag=vlan,
            options=ovsdb.ovsdb_dict({'network_name': 'physnet1'})))
        self.cloud.add_switch(f'tenant-{vni:d}', datapath)
        self.cloud.say('Logical_Switch', {'name': f'neutron-tenant-{vni:d}'},
                       external_ids={ownership.EXT_ID_VNI: f'{vni:d}'})
        # A bridge of its own, because no ovn-controller prevents loops.
        self.switch.vsctl('add-br', bridge, '--', 'set', 'bridge', bridge,
                          'datapath_type=netdev')
        self.addCleanup(self.switch.vsctl, 'del-br', bridge)
        for place, name, peer in ((places.BRIDGE, f'ex-{vni:d}', f'in-{vni}'),
                                  (bridge, f'in-{vni}', f'ex-{vni:d}')):
            self.switch.vsctl(
                'add-port', place, name, '--', 'set', 'interface', name,
                'type=patch', f'options:peer={peer}', '--', 'set', 'port',
                name, f'external_ids:ovn-localnet-port={localnet}')
            self.addCleanup(self.switch.vsctl, 'del-port', place, name)
        return datapath

    def add_namespace(self):
        """The machine of the VNI that stays."""
        made, port = namespaces.hold(self), 'machine'
        self.ip(f'link add {port} type veth peer name eth0 netns {made.pid}')
        self.addCleanup(self.ip, f'link del {port}')
        self.ip(f'link set {port} up')
        self.switch.vsctl('add-port', f'int-{STAYS:d}', port,
                          f'tag={VLANS[STAYS]:d}')
        made.sh(f'''
            ip link set eth0 address {MAC} up
            ip address add {MACHINE}/24 dev eth0
            ''')
        return made

    def add_machines(self, *vnis):
        """A machine of each VNI, all with the same addresses."""
        here = self.cloud._chassis(cloud.CHASSIS)
        self.sb.transact(*(ovsdb.insert(
            'Port_Binding', logical_port=f'vm-{vni:d}', type='', up=True,
            datapath=self.networks[vni], tunnel_key=2, chassis=here,
            mac=f'{MAC} {MACHINE} {MACHINE6}', external_ids=ovsdb.ovsdb_dict(
                {'neutron:cidrs': f'{MACHINE}/24 {MACHINE6}/64'}))
            for vni in vnis))

    # -- what BoundaryTest does -------------------------------------------

    def orders(self):
        """Each death on the way there and on the way back.

        Those before and after a backend are the same for all backends, see
        functional.crash.test_boundaries.
        """
        orders = [{'backend': name, 'moment': program.WITHIN}
                  for name in self.OTHERS]
        for name, victims in self.OF_VNIS.items():
            orders += [{'backend': name, 'moment': program.WITHIN,
                        'victim': victim} for victim in victims]
        return [order for order in orders for _way in ('there', 'back')]

    def change(self, there, outranked=False):
        if there:
            self.add_machines(*COME)
        else:
            self.sb.transact(*(ovsdb.delete(
                'Port_Binding', {'logical_port': f'vm-{vni:d}'})
                for vni in COME))

    def after_change(self, there):
        self.patiently(lambda: (evpn_names.vrf(COME[0]) in
                                self.ip('link show')) == there, self.log)
        return self.settled()

    def right(self):
        self.kept = self.indexes()
        return {**super().right(),
                'VNI': probes.Probe(self, self.inside, 'ping', GATEWAY)}

    def lossless(self, traffic, unit):
        super().lossless(traffic, unit)
        self.assertEqual(self.kept, self.indexes())
        self.assertEqual(0, unit.close(), self.log())
        self.assertEqual([], sorted(filter(
            _OF_VNI.search, self.state() - self.bare)))

    def indexes(self):
        """The devices of the VNI that stays, with their numbers."""
        return {name: link['ifindex'] for name, link in self.links().items()
                if evpn_names.vni_of_device(name) == STAYS}

    # -- what there is ----------------------------------------------------

    def links(self):
        """What ip(8) shows of the devices, a dict by name."""
        return {link['ifname']: link for link in json.loads(
            self.ip('-d -j link show'))}

    def state(self):
        found = super().state()
        for name, link in self.links().items():
            info = link.get('linkinfo', {})
            data, slave = (info.get(key, {}) for key in (
                'info_data', 'info_slave_data'))
            found.add(f'link: {name} ' + repr((
                link.get('master'), link['mtu'], 'UP' in link['flags'],
                link.get('ifalias'), link['group'],
                # Others have one of chance.
                link['address'] if name.startswith('br-') or
                evpn_names.is_vrf_end(name) else '',
                link.get('inet6_addr_gen_mode'), info.get('info_kind'),
                *(data.get(key) for key in ('table', 'id', 'local', 'port')),
                *(slave.get(key) for key in ('learning', 'neigh_suppress')))))
        for port in self.switch.vsctl('list-ports', places.BRIDGE).split():
            found.add(f'tag: {port} ' + self.switch.vsctl(
                'get', 'port', port, 'tag', 'external_ids').strip())
        found |= {f'address: {line.split(maxsplit=1)[1].strip()}'
                  for line in self.ip('-o -6 address show').splitlines()
                  if 'vrf' in line}
        found |= {f'sysctl: {line}' for line in self.node.sh(
            'cd /proc/sys/net/ipv4/conf; grep . ' + ' '.join(
                f'*/{name}' for name in _SYSCTLS)).splitlines()
            if evpn_names.is_device(line.partition('/')[0])}
        return found | set(self.sections())

    def sections(self):
        """The lines of zebra and bgpd, each behind those it is in."""
        for daemon in ('zebra', 'bgpd'):
            inside = []
            for line in self.host.ask(
                    daemon, 'show running-config').splitlines():
                depth = len(line) - len(line.lstrip())
                inside[depth:] = [line.strip()]
                yield f'{daemon}: ' + ' / '.join(inside)
