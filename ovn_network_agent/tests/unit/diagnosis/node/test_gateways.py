# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.diagnosis.node import gateways
from ovn_network_agent.tests.unit.diagnosis.node import base

HERE, THERE = 'here', 'there'


def candidate(chassis, priority, **more):
    return model.Candidate(chassis, priority, **more)


def group(*candidates, owner=HERE, name='lrp'):
    return model.GatewayGroup('Gateway_Chassis', name, name, candidates,
                              (model.GroupPort('cr-' + name, owner, name),))


GOOD = candidate(HERE, 2), candidate(THERE, 1)


class PrioritiesTest(base.JudgeTestCase):

    def judge(self, *groups, verdicts, drains=True):
        return self.judged(gateways.judge_priorities, gateways.Groups(
            HERE, groups, drains), *verdicts)

    def test_groups(self):
        """With a reason, a priority 0 is a drain, and the status has it."""
        tie = group(candidate(HERE, 1), candidate(THERE, 1))
        zero, other = candidate(HERE, 0), candidate(THERE, 1)
        for groups, verdict, said in (
                ((), base.OK, ''), ([group(*GOOD)], base.OK, ''),
                ([group(candidate(HERE, 1), candidate(THERE, 2),
                        owner=THERE)], base.OK, ''),
                ([tie], base.WARN, 'lrp: '),
                ([group(*GOOD, owner=THERE)], base.WARN, ''),
                ([group(zero, other, owner=THERE)], base.BROKEN, ''),
                ([group(candidate(HERE, 0, drained='maintenance'), other,
                        owner=THERE)], base.OK, ''),
                ([group(GOOD[0], candidate(THERE, 0))], base.WARN, ''),
                ([group(GOOD[0])], base.WARN, ''),
                ([group(GOOD[0], candidate(THERE, 1, known=False))],
                 base.WARN, ''),
                ([group(*GOOD, owner='')], base.WARN, 'no chassis has'),
                ([group(GOOD[0], name=f'lrp{n}') for n in range(8)],
                 base.WARN, 'lrp4 and 3 more')):
            self.assertIn(said, self.judge(*groups, verdicts=[verdict]))
        # Without the driver Neutron's numbers stay as they are.
        self.judge(tie, verdicts=[base.OK], drains=False)


class PortsTest(base.JudgeTestCase):

    segment = model.Segment('d', 'provnet', 'physnet1', 0, 'br-ex', 'br-ex',
                            '0a:00:00:00:00:01', 3)

    def judge(self, verdict, segment):
        return self.judged(gateways.judge_ports, gateways.Ports(
            (model.GroupPort('cr-lrp', HERE, 'lrp', (), segment),)), verdict)

    def test_segments(self):
        self.judge(base.OK, self.segment)
        self.judge(base.WARN, None)
        for changed, word in (({'bridge': ''}, 'physnet1'),
                              ({'patch_port': 0}, 'no patch port'),
                              ({'bridge': 'br-x'}, 'further_bridges'),
                              ({'vlan': 5, 'occupied': True},
                               'is not VLAN 5')):
            segment = self.segment._replace(**changed)
            self.assertIn(word, self.judge(base.BROKEN, segment))


MARKS = frozenset({ownership.Owner('gw1'), ownership.Owner('gw1', 'id')})


class RoutesTest(base.JudgeTestCase):

    def test_routes(self):
        def routes(*found, managed=True, problems=()):
            return gateways.Routes(managed, MARKS, (model.Router(
                'uuid', 'r1', default_routes=found),), problems)

        ours = model.NbDefaultRoute('198.51.100.254', 'lrp', True,
                                    ownership.Owner('gw1'))
        others = ours._replace(owner=ownership.Owner('gw1', 'other'))
        # The subnet has a gateway.
        foreign = model.NbDefaultRoute('198.51.100.1', '', False)
        self.judged_each(
            gateways.judge_routes, (routes(ours), base.OK),
            (routes(), base.BROKEN, 'r1: '), (routes(others), base.BROKEN),
            (routes(foreign), base.OK),
            (routes(ours, problems=('malformed',)), base.WARN),
            (gateways.Routes(False, MARKS, (), ()), base.NOT_CHECKED),
            # Without an agent, also those whose machines are here.
            (routes(managed=False), base.WARN, 'r1: here'),
            (gateways.Routes(False, MARKS, (), (), (
                model.Router('uuid', 'r1'),)), base.WARN, 'r1: here'))


class Ipv6Test(base.JudgeTestCase):

    def test_routers_and_forwarding(self):
        self.judged_each(gateways.judge_ipv6, *(
            (gateways.Ipv6(*found), verdict) for *found, verdict in (
                ((), False, base.OK), (('r1',), True, base.OK),
                (('r1',), False, base.BROKEN))))
