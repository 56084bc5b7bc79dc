# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The veth leak as ip(8) sees it, and where packets of OVN leave."""

from ovn_network_agent.netlink.objects import links
from ovn_network_agent.tests.functional.engine import test_ownership
from ovn_network_agent.tests.functional.engine import whole
from ovn_network_agent.tests.lab import vrf_cases
from ovn_network_agent.tests.unit import cloud

STOPPED = vrf_cases.STOPPED
VRF = vrf_cases.VRF
ALPHA = vrf_cases.ALPHA
WAY_BACK = vrf_cases.WAY_BACK
# From a client, to an address that no row has.
GIVEN_BACK = '192.0.2.200', '198.51.100.77'


class LeakStateTest(vrf_cases.VrfCase):
    """Rows VETH-01 to VETH-07, VETH-10, VETH-11, VETH-14, as ip(8) sees it.
    """

    NODE = {
        'link: veth-default None ovn-network-agent True',
        f'link: veth-provider {VRF} ovn-network-agent True',
        '169.254.0.1/30 veth-default', '169.254.0.2/30 veth-provider',
        'nud: 169.254.0.2 dev veth-default lladdr veth-provider PERMANENT '
        'proto 44',
        'nud: 169.254.0.1 dev veth-provider lladdr veth-default PERMANENT '
        'proto 44',
        'default via 169.254.0.2 dev veth-default table 200 proto 44',
        'rule: 1999:\tfrom all iif veth-default lookup 254 proto 44',
        'rule: 1999:\tfrom all iif veth-provider 6 proto 44'}
    NETWORK = WAY_BACK | {
        '198.51.100.0/24 via 169.254.0.1 dev veth-provider table 10 '
        'proto 44',
        'rule: 1997:\tfrom all to 198.51.100.0/24 iif veth-default lookup '
        '254 suppress_prefixlength 0 proto 44',
        'rule: 1998:\tfrom all to 198.51.100.0/24 iif veth-default '
        '6 proto 44'}

    def leak(self):
        """The lines about it, in short."""
        found = set()
        for line in self.state():
            if line.startswith('address: veth'):
                device, _inet, address = line.split()[1:4]
                found.add(f'{address} {device}')
            elif line.startswith('table: 1 ') and ' proto 44' in line:
                found.add(line[len('table: 1 '):].split(' scope')[0])
            elif line.startswith(('link: veth-', 'nud: ')) or (
                    ' proto 44' in line):
                found.add(line)
        return found

    def test_what_is_there(self):
        agent = whole.Agent(self.conf)
        self.settled(agent.run(prune=False))
        self.assertEqual(self.NODE, self.leak())
        for name in ('veth-default/forwarding', 'veth-provider/forwarding',
                     'veth-provider/accept_local'):
            self.assertEqual('1', self.sysctl(f'net/ipv4/conf/{name}'))
        router = cloud.router(1)
        self.settled(agent.run(router))
        own = {'198.51.100.1 dev br-ex table 254 proto 44',
               '198.51.100.1 dev br-ex proto 44'}
        self.assertEqual(self.NODE | self.NETWORK, self.leak() - own)
        pair = links.read_all()['veth-default'].index
        self.settled(whole.Agent(self.conf).run(router))
        self.assertEqual(self.NODE | self.NETWORK, self.leak() - own)
        self.assertEqual(pair, links.read_all()['veth-default'].index)
        # Row VETH-07: a candidate has the way back in advance.
        away = test_ownership.elsewhere(router)
        self.settled(agent.run(away, groups=(cloud.group(away),)))
        self.assertEqual(self.NODE | WAY_BACK, self.leak())
        self.settled(agent.run(away))
        self.assertEqual(self.NODE, self.leak())
        self.settled(agent.run(phase=STOPPED))
        self.assertEqual(set(), self.leak())

    def test_a_network_by_hand_needs_no_ovn(self):
        """Row VETH-10."""
        self.conf.set_override('network_cidr', ['198.51.100.0/24'])
        self.settled(whole.Agent(self.conf).run(prune=False))
        self.assertEqual(self.NODE | self.NETWORK, self.leak())


class LeakTest(vrf_cases.VrfCase):
    """What comes out of OVN leaves through the VRF, or not at all."""

    def test_without_the_tables_default_route_it_is_dropped(self):
        self.ip('address add 192.0.2.10/24 dev br-ex-peer')
        self.ip('route add default via 192.0.2.1 dev br-ex-peer')
        # Control: without us it takes the main table.
        self.plant('address add 169.254.169.254/32 dev br-ex')
        self.ip('route add 198.51.100.10/32 dev br-ex')
        with open('/proc/sys/net/ipv4/conf/br-ex/forwarding',
                  'w') as opened:
            opened.write('1')
        self.assertEqual('br-ex-peer', self.decision('198.51.100.10'))
        self.assertEqual('br-ex-peer', self.decision(*GIVEN_BACK))
        self.ip('route del 198.51.100.10/32 dev br-ex')
        agent = whole.Agent(self.conf)
        self.settled(agent.run(ALPHA))
        self.assertEqual('veth-default', self.decision('198.51.100.10'))
        for damage in ('route del default table 200',
                       'link set veth-default down',
                       'link del veth-default'):
            with self.subTest(damage):
                self.ip(damage)
                self.assertEqual('', self.decision('198.51.100.10'))
                self.settled(agent.run(ALPHA, full=False,
                                       stale=whole.NAMES))
                self.assertEqual('veth-default',
                                 self.decision('198.51.100.10'))
        # An untranslated sender never takes the main table either.
        self.assertEqual('', self.decision('10.0.0.5'))
        # Nor does what OVN gives back.
        self.assertEqual('', self.decision(*GIVEN_BACK))


class NoWayOutTest(vrf_cases.VrfCase):
    """Row VETH-16: a VRF without a default route."""

    def test_it_is_said_once_and_nothing_is_made(self):
        self.ip('route del default table 10')
        self.ip('address add 192.0.2.10/24 dev br-ex-peer')
        self.ip('route add default via 192.0.2.1 dev br-ex-peer')
        agent = whole.Agent(self.conf)
        with self.assertLogs('ovn_network_agent.engine.contributions',
                             'INFO') as logs:
            self._ways(agent)
            # With no router here nobody needs it.
            self.settled(agent.run())
        told = [record.getMessage().partition(':')[0]
                for record in logs.records
                if f'VRF {VRF}' in record.getMessage()]
        # However many passes there are.
        self.assertEqual(['Left out', 'No longer left out'] * 2, told)

    def _ways(self, agent):
        for commands, said in (
                ((), True),
                ((), True),
                (('route add unreachable default table 10 '
                  'metric 4278198272',), True),
                (('route add default via 192.0.2.129 table 10 proto bgp '
                  'metric 20',), False),
                (('route del default table 10 proto bgp',
                  'route add 0.0.0.0/1 via 192.0.2.129 table 10'), True)):
            with self.subTest(commands):
                for command in commands:
                    self.ip(command)
                reasons = ' '.join(agent.run(ALPHA).degraded)
                self.assertEqual(said, f'VRF {VRF}' in reasons, reasons)
                self.assertEqual([], [
                    route for route in self.shown(
                        '-d -N route show default table 10')
                    if route['protocol'] == '44'])
