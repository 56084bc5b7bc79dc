# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What is on the node and in OVN: networks, machines, and the original."""

import json
import re
import subprocess

from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests import original
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.migrate import places
from ovn_network_agent.tests.functional.migrate import probes
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb


class Layout:
    """Mix-in for a test case with ``host``, ``node``, ``switch``, ``nb``,
    ``cloud`` and ``layout``.
    """

    def ip(self, command):
        return self.node.run('ip', *command.split())

    def nft(self, text):
        """Give nft(8) some input on the node."""
        subprocess.run(self.node.inside('nft', '-f', '-'), input=text,
                       check=True, text=True, capture_output=True)

    def add_router(self, router):
        """What Neutron and OVN have of a router."""
        name = router.lrp.removeprefix('lrp-')
        self.cloud.add_router(name, (router.address,), cloud.CHASSIS,
                              mac=router.mac)
        for fip in router.fips:
            self.cloud.add_nat(name, fip)

    def machine(self, router):
        """A namespace behind br-int that has a router's addresses."""
        made = namespaces.hold(self)
        port = router.lrp.removeprefix('lrp-')
        self.ip(f'link add {port} type veth peer name eth0 netns {made.pid}')
        self.addCleanup(self.ip, f'link del {port}')
        self.ip(f'link set {port} up')
        self.switch.vsctl('add-port', 'br-int', port)
        self.addCleanup(self.switch.vsctl, 'del-port', 'br-int', port)
        # The gateway is OVN's virtual one, see Static_MAC_Binding.
        gateway = router.virtual_gateway
        made.sh(f'''
            sysctl -qw net.ipv6.conf.all.disable_ipv6=1
            ip link set lo up
            ip link set eth0 address {router.mac}
            ip address add {router.fips[0]}/32 dev eth0
            ip link set eth0 up
            ip neighbour add {gateway} lladdr {places.BRIDGE_MAC} dev eth0 \
                nud permanent
            ip route add default via {gateway} dev eth0 onlink
            ''')
        return made

    def destination(self):
        """A server behind the port forward."""
        made = namespaces.hold(self)
        self.ip(f'link add server type veth peer name eth0 netns {made.pid}')
        self.addCleanup(self.ip, 'link del server')
        self.ip('link set server master lan up')
        made.sh(f'''
            ip link set lo up
            ip address add {places.DESTINATION}/24 dev eth0
            ip link set eth0 up
            ip route add default via 10.0.1.1
            ''')
        probes.serve(self, made, places.DESTINATION, places.FORWARD.dest_port)

    # -- the original -----------------------------------------------------

    def lay_out(self):
        """Make what the original makes; anything in its way is an error."""
        for command in self.layout.kernel():
            if not (command.startswith('link set br-ex') or
                    command in self.FOREIGN):
                self.ip(command)
        for name, value in self.layout.sysctls():
            self.node.run('sysctl', '-qw', f'{name}={value}')
        if self.VRF:
            self._neighbours()
        self.switch.add(*self.layout.flows(self.switch.patch(),
                                           places.BRIDGE_MAC))
        self.nft(self.layout.nft())
        self.host.configure(*self.layout.frr())
        for router in self.layout.routers:
            self.write_rows(router)
        waiting.eventually(
            lambda: self.wanted_prefixes() <= self.host.learned(),
            lambda: f'the fabric has learned {self.host.learned()}')

    def _neighbours(self):
        for end, peer, address in (
                ('veth-default', 'veth-provider', original.PROVIDER_IP),
                ('veth-provider', 'veth-default', original.NEXTHOP)):
            shown, = json.loads(self.ip(f'-j link show {peer}'))
            self.ip(f'neighbour add {address} lladdr {shown["address"]} '
                    f'dev {end} nud permanent')

    def write_rows(self, router):
        """The rows of the original in OVN for one router."""
        self.cloud.add_static_route(
            router.lrp.removeprefix('lrp-'), nexthop=router.virtual_gateway,
            external_ids=self.layout.external_ids(places.HOSTNAME),
            output_port=router.lrp)
        self.nb.transact(ovsdb.insert(
            'Static_MAC_Binding', logical_port=router.lrp,
            ip=router.virtual_gateway, mac=places.BRIDGE_MAC))

    def wanted_prefixes(self):
        return {f'{address}/32' for router in self.layout.routers
                for address in router.addresses} | {places.FORWARD.vip + '/32'}

    # -- what there is ----------------------------------------------------

    def state(self):
        """Everything on the node that an agent could leave or take, a set."""
        found = set()
        # A pair that is made again has other addresses and next hops.
        own = re.findall(r': (veth-\S+)@.* link/ether (\S+)',
                         self.ip('-o link show'))
        for command in ('-4 -N -d route show table all', '-4 -N rule show',
                        '-6 -N rule show', '-o -4 address show',
                        '-N neighbour show nud permanent'):
            for line in self.ip(command).splitlines():
                line = re.sub(r'^\d+: (?=\S+ +inet)', '', line)
                line = re.sub(r' (linkdown|nhid \d+|metric 20|id \d+)\b', '',
                              line)
                for device, mac in own:
                    line = line.replace(mac, f'of {device}')
                found.add(f'{command.split()[-2]}: {line.strip()}')
        found |= {f'flow: {flow}' for flow in self.switch.flows()}
        found |= {f'frr: {line.strip()}' for line in self.host.lines()
                  if 'ip route' in line or 'prefix-list ANN' in line}
        found |= {f'port: {port}' for port in self.switch.vsctl(
            'list-ports', places.BRIDGE).split()}
        found |= {f'nft: {line}' for line in self.node.run(
            'nft', 'list', 'tables').splitlines()}
        return found

    def rows(self):
        """The rows of the original in OVN, with their identities."""
        return {table: self.nb.rows(table) for table in (
            'Logical_Router_Static_Route', 'Static_MAC_Binding',
            'Gateway_Chassis', 'Logical_Router')}
