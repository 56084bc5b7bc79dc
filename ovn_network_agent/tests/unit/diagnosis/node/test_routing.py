# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

from ovn_network_agent import ownership
from ovn_network_agent.diagnosis.node.kernel import forwards
from ovn_network_agent.diagnosis.node.kernel import routing
from ovn_network_agent.netlink import route_codec
from ovn_network_agent.netlink.objects import procfs
from ovn_network_agent.netlink.objects import rules
from ovn_network_agent.tests.unit.diagnosis.node import base

OURS = ownership.ROUTE_PROTOCOL
OPTION = '[veth_leak] veth_leak_table_id'
NETWORK = '198.51.100.0/24'


def route(dst, protocol=3):
    return route_codec.Route(200, dst, 'eth0', '10.0.0.1', protocol, 0)


def tables(*foreign, lost=()):
    return routing.Tables(((OPTION, 200, foreign),), lost)


def rule(priority, table, protocol=OURS, **selectors):
    return rules.Rule(priority, table, **{
        'src': None, 'dst': None, 'iif': None, 'fwmark': None,
        'protocol': protocol, **selectors})


L3MDEV = rule(1000, 0, 2), False


def found(*listed, vrf=True):
    return routing.Rules((1997, 1998, 1999, 2000, 2001), (2000, 200),
                         listed, vrf)


class RoutingTest(base.JudgeTestCase):

    def test_the_tables(self):
        """Empty, with routes of others, and without what was the agent's."""
        self.judged_each(
            routing.judge_tables, (tables(), base.OK),
            (routing.Tables(()), base.OK),
            (tables(route('0.0.0.0/0'), route(NETWORK)),
             (base.BROKEN, base.WARN), OPTION, 'through eth0', NETWORK),
            (tables(lost=(200,)), base.BROKEN))

    def test_large_packets(self):
        """Real devices are in the lab's test of the doctor."""
        found = routing.Sizes
        self.judged_each(
            routing.judge_mtu,
            (found({'eth1': 1280, 'eth2': 1500},
                   {'br-ex': 1500, 'veth-default': 1500}), base.WARN,
             'eth1 has an MTU of 1280 bytes, and br-ex, veth-default of 1500',
             '"ip link set eth1 mtu 1500"'),
            (found({'eth1': 9000}, {'br-ex': 9000, 'veth-default': 1500}),
             base.WARN, '"ip link set veth-default mtu 9000"'),
            (found({'eth1': 9000}, {'br-ex': 1500, 'veth-default': 1500}),
             base.OK),
            (found({}, {'br-ex': 1500}), base.NOT_CHECKED),
            (found({'eth1': 1500}, {}), base.NOT_CHECKED))

    def test_room_for_neighbours(self):
        """The failure of another node may double the addresses.

        Real tables are in the test of their reader, and other users of the
        kernel have neighbours, too.
        """
        def found(addresses=10, overflows=0):
            return routing.Neighbours(
                {4: procfs.Table(7, 1024, overflows),
                 6: procfs.Table(3, 1024, 0)}, {4: addresses, 6: 0})

        self.judged_each(
            routing.judge_neighbours,
            (found(), base.OK, 'IPv4: 7 of 1024; IPv6: 3 of 1024'),
            (found(512), base.OK),
            (found(513), base.WARN, 'gc_thresh3 = 1024: each address',
             'net.ipv4.neigh.default.gc_thresh3=4096 '
             'net.ipv4.neigh.default.gc_thresh2=2048'),
            (found(10000), base.WARN, 'thresh3=65536'),
            (found(overflows=9), base.WARN, 'was full 9 times'))

    def test_rules(self):
        """Other priorities are free; the original has no protocol."""
        strange = ((rule(2000, 77, 0, src=NETWORK), True),
                   (rule(1999, 254, 0, iif='eth0'), True),
                   (rule(2000, 200, OURS), False),
                   (rule(1998, 200, 4, dst=NETWORK), True))
        self.judged_each(
            routing.judge_rules, (found(
                L3MDEV, (rule(2000, 200, src=NETWORK), True),
                (rule(0, 255, 2), True), (rule(32766, 254, 2), True)),
                base.OK),
            (found((rule(2000, 200, 0, src=NETWORK), True),
                   (rule(1999, 254, 0, iif=ownership.VETH_DEFAULT), True)),
             base.OK), (found((rule(300, 7, 0), True)), base.OK),
            *((found(each), base.WARN, f'{each[0].priority:d}')
              for each in strange))

    def test_the_rule_of_the_kernel(self):
        """That of IPv6 does not help IPv4."""
        six = L3MDEV[0]._replace(ipv6=True), False
        self.judged_each(
            routing.judge_l3mdev, (found(L3MDEV), base.OK),
            (found(), base.BROKEN, 'ip rule add l3mdev'),
            (found(six), base.BROKEN), (found(vrf=False), base.NOT_CHECKED))

    def test_default_route(self):
        self.judged_each(
            routing.judge_default, (routing.Default(None), base.NOT_CHECKED),
            *((routing.Default(present, version), verdict,
               f'default route of IPv{version}') for version in (4, 6)
              for present, verdict in ((True, base.OK),
                                       (False, base.BROKEN))))

    def test_destinations_here(self):
        local = ('10.0.0.5', 'tcp'), ('10.0.0.5', 'udp')

        def found(backends=local, vrf='blue', tcp=True, udp=True,
                  option=False):
            return forwards.Local(backends, vrf, {'tcp': tcp, 'udp': udp},
                                  option)

        self.judged_each(
            forwards.judge_local, (found(()), base.NOT_CHECKED),
            (found(), base.OK), (found(vrf='', tcp=False, udp=False), base.OK),
            (found(udp=False), base.BROKEN, '10.0.0.5 (udp)'),
            (found(tcp=False, option=True), base.WARN),
            # A kernel that lacks the sysctl.
            (forwards.Local(local, 'blue', {}, False), base.BROKEN))
        self.assertNotIn('10.0.0.5 (tcp)', self.judged(
            forwards.judge_local, found(udp=False), base.BROKEN))

    def test_conntrack_zones(self):
        self.judged_each(forwards.judge_zones, *(
            (forwards.Zones(zone, {7: 'r1_snat'}), verdict)
            for zone, verdict in ((None, base.NOT_CHECKED), (64000, base.OK),
                                  (7, base.BROKEN))))
