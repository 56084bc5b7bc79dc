# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Egress addresses on a node, with packets, on the real kernel and nft.

The router of OVN and the outside are namespaces; this one is the node::

    machines 10.0.1.0/24 --- router --- br-ex  here  out0 --- outside
"""

import dataclasses
import json
import subprocess

from lab import waiting
from ovn_network_agent import model
from ovn_network_agent import privileged
from ovn_network_agent.backends import egress_nft
from ovn_network_agent.backends.kernel import address
from ovn_network_agent.backends.kernel import link
from ovn_network_agent.backends.kernel import neighbour
from ovn_network_agent.backends.kernel import route
from ovn_network_agent.backends.kernel import rule
from ovn_network_agent.engine import executor
from ovn_network_agent.engine import passes
from ovn_network_agent.engine import reconciler
from ovn_network_agent.netlink.objects import egress_links
from ovn_network_agent.tests import configs
from ovn_network_agent.tests import namespaces
from ovn_network_agent.tests.functional.netlink import base
from ovn_network_agent.tests.unit import cloud
from ovn_network_agent.tests.unit import world

EGRESS = {4: '203.0.113.77', 6: '2001:db8:7::77'}
MACHINE = {4: '10.0.1.9', 6: 'fd01::9'}
OTHER = {4: '10.0.1.10', 6: 'fd01::10'}
GATEWAY = {4: '198.51.100.1', 6: '2001:db8:5::1'}
# On the link, and behind a router there.
NEAR = {4: '203.0.113.1', 6: '2001:db8:7::1'}
FAR = {4: '203.0.114.1', 6: '2001:db8:8::1'}
_ROUTER = '''
ip link set lo up
ip link add machines type veth peer name inside
ip link set machines up
ip link set inside up
ip link set uplink up
for address in 10.0.1.9/24 10.0.1.10/24; do
    ip address add $address dev machines
done
for address in fd01::9/64 fd01::10/64; do
    ip address add $address dev machines nodad
done
ip address add 198.51.100.1/24 dev uplink
ip address add 2001:db8:5::1/64 dev uplink nodad
ip neighbour add 198.51.100.254 lladdr $0 dev uplink
ip neighbour add 2001:db8:5::ff lladdr $0 dev uplink
ip route add default via 198.51.100.254
ip -6 route add default via 2001:db8:5::ff
'''
# The judge: what leaves with the address of a machine.
_OUTSIDE = '''
ip link set lo up
ip link set outside up
ip address add 203.0.113.1/24 dev outside
ip address add 2001:db8:7::1/64 dev outside nodad
ip address add 203.0.114.1/32 dev lo
ip address add 2001:db8:8::1/128 dev lo
nft -f - <<END
table inet judge {
    counter untranslated { }
    counter translated { }
    chain seen {
        type filter hook prerouting priority raw;
        ip saddr 10.0.1.0/24 counter name untranslated
        ip6 saddr fd01::/64 counter name untranslated
        ip saddr 203.0.113.77 counter name translated
        ip6 saddr 2001:db8:7::77 counter name translated
    }
}
END
'''
_NODE = '''
ip link set br-ex up
ip address add 169.254.0.9/32 dev br-ex
ip link set out0 up
ip address add 203.0.113.5/24 dev out0
ip address add 2001:db8:7::5/64 dev out0 nodad
ip route add default via 203.0.113.1
ip route add 203.0.114.0/24 via 203.0.113.1
ip route add 2001:db8:8::/64 via 2001:db8:7::1
echo 1 > /proc/sys/net/ipv4/conf/br-ex/forwarding
echo 1 > /proc/sys/net/ipv6/conf/all/forwarding
'''
# The link in a VRF with a default route, which the main table has elsewhere.
_VRF = '''
ip link add $0 type vrf table 77
ip link set $0 up
ip link set out0 master $0
''' + _NODE.replace('203.0.113.1', '203.0.113.1 vrf $0').replace(
    '2001:db8:7::1', '2001:db8:7::1 vrf $0') + '''
ip link add mgmt type veth peer name nowhere
ip link set mgmt up
ip link set nowhere up
ip address add 192.0.2.5/24 dev mgmt
ip route add default via 192.0.2.1
'''
KERNEL = (link.SysctlBackend, address.AddressBackend,
          neighbour.NeighbourBackend, route.RouteBackend, rule.RuleBackend,
          egress_nft.EgressNftBackend)


class EgressTestCase(base.KernelTestCase):
    """A node with the driver, and its surroundings."""

    driver_devices = ()
    # That of the link, '' for the default VRF.
    vrf = ''

    def setUp(self):
        super().setUp()
        privileged.netfilter.set_client_mode(False)
        self.addCleanup(privileged.netfilter.set_client_mode, True)
        self.router, self.outside = (
            namespaces.hold(self) for _each in range(2))
        self.ip(f'link set br-ex-peer name uplink netns {self.router.pid}')
        self.ip('link add out0 type veth peer name outside netns '
                f'{self.outside.pid}')
        subprocess.run(['sh', '-ec', _VRF if self.vrf else _NODE, self.vrf],
                       check=True)
        mac, = (each['address'] for each in self.shown('link show br-ex'))
        self.router.run('sh', '-ec', _ROUTER, mac)
        self.mac = json.loads(self.router.run(
            'ip', '-j', 'link', 'show', 'uplink'))[0]['address']
        self.outside.sh(_OUTSIDE)
        # The kernel looks at the links in its own time.
        waiting.wait_until('each link has a carrier', lambda: (
            'linkdown' not in self.ip('route show table all')))
        self.agent()

    def configure(self, vrf_name='', **_options):
        conf = configs.conf(
            ovn__ovn_nb_remote=['unix:/nowhere'],
            ovn__ovn_sb_remote=['unix:/nowhere'], frr__vrf_name=vrf_name,
            drivers=['egress_ip'])
        self.fix_limits(conf)
        return conf

    def agent(self, driver='egress_ip'):
        """Start an agent; a second one on the same kernel is a restart."""
        self.backends = backends = [
            backend(self.conf) for backend in KERNEL]
        for each in backends:
            self.addCleanup(each.close)
        made = world.World()
        names = {each.name for each in backends}
        self.threads = executor.Threads(lambda reason: None)
        self.reconciler = reconciler.Reconciler(
            [world.driver(driver, self.conf)],
            [*backends, *(each for each in world.backends(made)
                          if each.name not in names)], lambda reason: None,
            threads=self.threads)
        return self.reconciler

    def host(self, family=4, machine=None, **values):
        """The subject of a machine."""
        return model.EgressHost(**{
            'name': 'firewall', 'address': EGRESS[family],
            'chassis': cloud.CHASSIS, 'machine': machine or MACHINE[family],
            'router': 'r-1', 'called': 'router one', 'port': 'lrp-1',
            'mac': self.mac, 'via': GATEWAY[family],
            'segments': (('physnet1', 0),), **values})

    def run_pass(self, *hosts, **values):
        """Passes with these machines until all is done."""
        found = self.one_pass(*hosts, **values)
        # nft works beside the loop, which goes on after a tenth of a second.
        while self.threads.jobs:
            self.threads.wait(None)
            found = self.one_pass(*hosts, **values)
        self.assertEqual([], found.degraded)
        return found

    def one_pass(self, *hosts, routers=(), phase=model.Phase.RUNNING):
        """One pass with these machines; gives the outcome."""
        links = egress_links.read_all(egress_links.Chosen(
            frozenset(['br-ex']), egress=frozenset(
                each.address for each in hosts)))
        view = dataclasses.replace(
            cloud.snapshot(*routers, phase=phase, links=links, egress=True),
            subjects={model.EgressHost: {
                f'EgressHost {number:d}': {'': each}
                for number, each in enumerate(hosts)}})
        return self.reconciler.run(passes.Pass(view, full=True))

    def filter_sources(self, strict):
        """Set rp_filter everywhere."""
        for dev in ('all', 'br-ex', 'out0', *filter(None, [self.vrf])):
            self.set_sysctl(f'net/ipv4/conf/{dev}/rp_filter', strict)

    def pings(self, source, target):
        """Whether two echo requests are answered."""
        return subprocess.run(self.router.inside(
            'ping', '-c2', '-i0.2', '-W1', '-I', source, target),
            capture_output=True).returncode == 0

    def reaches(self, source, target):
        """Wait until echo requests are answered."""
        waiting.wait_until(
            f'{source} reaches {target}',
            lambda: self.pings(source, target), failure=self.failed)

    def counted(self, name):
        """Packets of a counter of the judge."""
        return int(self.outside.sh(
            f'nft list counter inet judge {name}').split('packets ')[1]
            .split()[0])

    def failed(self, text):
        """The failure of a wait, with the state of the node."""
        return AssertionError('\n'.join((
            text,
            *(self.ip(command) for command in (
                'rule', '-6 rule', 'route show table all',
                '-6 route show table all', 'address', 'neighbour')),
            subprocess.run(['nft', 'list', 'ruleset'], check=True, text=True,
                           capture_output=True).stdout)))
