# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


from ovn_network_agent import ownership
from ovn_network_agent.diagnosis.node.kernel import routing
from ovn_network_agent.netlink import route_codec
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


class TablesTest(base.JudgeTestCase):

    def test_nobody_else(self):
        self.judged(routing.judge_tables, tables(), base.OK)
        self.judged(routing.judge_tables, routing.Tables(()), base.OK)

    def test_the_default_route_of_another(self):
        said = self.judged(routing.judge_tables, tables(
            route('0.0.0.0/0'), route(NETWORK)), base.BROKEN, base.WARN)
        self.assertIn(OPTION, said)
        self.assertIn('through eth0', said)
        self.assertIn(NETWORK, said)

    def test_a_running_agent_has_lost_its_own(self):
        self.judged(routing.judge_tables, tables(lost=(200,)), base.BROKEN)


class RulesTest(base.JudgeTestCase):

    def test_ours_and_those_of_the_kernel(self):
        self.judged(routing.judge_rules, found(
            L3MDEV, (rule(2000, 200, src=NETWORK), True),
            (rule(0, 255, 2), True), (rule(32766, 254, 2), True)), base.OK)

    def test_the_original_has_the_same_without_a_protocol(self):
        self.judged(routing.judge_rules, found(
            (rule(2000, 200, 0, src=NETWORK), True),
            (rule(1999, 254, 0, iif=ownership.VETH_DEFAULT), True)), base.OK)

    def test_another_program(self):
        for strange in ((rule(2000, 77, 0, src=NETWORK), True),
                        (rule(1999, 254, 0, iif='eth0'), True),
                        (rule(2000, 200, OURS), False),
                        (rule(1998, 200, 4, dst=NETWORK), True)):
            said = self.judged(routing.judge_rules, found(strange), base.WARN)
            self.assertIn(f'{strange[0].priority:d}', said)

    def test_other_priorities_are_free(self):
        self.judged(routing.judge_rules, found((rule(300, 7, 0), True)),
                    base.OK)

    def test_the_rule_of_the_kernel(self):
        self.judged(routing.judge_l3mdev, found(L3MDEV), base.OK)
        self.assertIn('ip rule add l3mdev', self.judged(
            routing.judge_l3mdev, found(), base.BROKEN))
        # That of IPv6 does not help IPv4.
        six = L3MDEV[0]._replace(ipv6=True), False
        self.judged(routing.judge_l3mdev, found(six), base.BROKEN)
        self.judged(routing.judge_l3mdev, found(vrf=False), base.NOT_CHECKED)


class DefaultTest(base.JudgeTestCase):

    def test_default_route(self):
        for version in (4, 6):
            for present, verdict in ((True, base.OK), (False, base.BROKEN)):
                said = self.judged(routing.judge_default, routing.Default(
                    present, version), verdict)
                self.assertIn(f'default route of IPv{version}', said)
        self.judged(routing.judge_default, routing.Default(None),
                    base.NOT_CHECKED)
