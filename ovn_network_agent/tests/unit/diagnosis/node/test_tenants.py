# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The checks of machines, of their networks and of what routers share."""

from ovn_network_agent.diagnosis.node import tenants
from ovn_network_agent.ovsdb import lock_state
from ovn_network_agent.tests.unit.ctl import test_egress as answers
from ovn_network_agent.tests.unit.diagnosis.node import base
from ovn_network_agent.watches import egress_question

READY = egress_question.Answer('ready')
DEAD = egress_question.Answer('refused', '192.0.2.1 port 6643: nobody listens')


def egress(place=(), lock='held', node=(), **values):
    return {**answers.ANSWER, 'lock': lock, 'node': node, 'egress_ips': [{
        **answers.SHOP, 'places': [{**answers.PLACE, **dict(place)}],
        **values}]}


def peers(lock='held', rows='in place', **states):
    """The answer about peerings, states as name=state."""
    return {'lock': lock, 'peerings': [
        {'router_name': 'web', 'name': name, 'state': state,
         'why': f'{name} is bad', 'rows': rows, 'rows_why': f'{name} is left'}
        for name, state in states.items()]}


class TenantsTest(base.JudgeTestCase):

    def test_prefixes(self):
        self.judged_each(
            tenants.judge_tenants, (tenants.Tenants(3, {}), base.OK,
                                    '3 prefixes of tenants can be announced'),
            (tenants.Tenants(9, {
                ('overlaps with x', 'change it'): [
                    f'10.0.{n:d}.0/24' for n in range(9)],
                ('overlaps with y', 'change it'): ['10.9.0.0/24']}),
             (base.WARN, base.WARN), 'more: overlaps with x',
             '10.9.0.0/24: overlaps with y'))

    def test_machines(self):
        self.judged_each(
            tenants.judge_machines, (tenants.Machines(3), base.OK,
                                     '3 addresses of machines are here'),
            (tenants.Machines(3, networks=(('public', 'why not'),)),
             base.BROKEN, 'network public: its machines here cannot be '
             'reached: why not'),
            (tenants.Machines(
                3, outside=tuple(f'192.0.2.{n:d}' for n in range(9)),
                claimed=(('198.51.100.20', 'port vm-2'),)),
             (base.WARN, base.WARN), '192.0.2.0, ', 'more: in no subnet',
             '198.51.100.20 (port vm-2): something else'))

    def test_egress_addresses(self):
        away = {'rows': 'refused', 'rows_why': 'no'}
        self.judged_each(tenants.judge_egress, *(
            (egress(**values), verdict, words) for values, verdict, words in (
                ({}, base.OK,
                 '1 object for 1 address of machines; this agent writes'),
                ({'place': {'address': '', 'why': 'none is free'}}, base.WARN,
                 'shop at router web: none is free'),
                ({'why': 'no such name'}, base.WARN, 'shop: no such name'),
                ({'problems': ['no port x']}, base.WARN, 'shop: no port x'),
                ({'place': away}, base.WARN,
                 'shop at router web: refused (no)'),
                ({'place': away, 'lock': 'waiting'}, base.WARN,
                 'on the node of the writer'),
                ({'node': [{'kind': 'egress_source', 'ref': 'x',
                            'state': 'refused', 'reason': 'nft'}]}, base.WARN,
                 'egress_source x (refused) nft'),
                ({'lock': 'not connected'}, base.WARN,
                 'cannot be asked for'))))

    def test_peerings(self):
        """The rows of those that are created; the writer may be another."""
        writer = 'on the node of the writer'
        self.judged_each(
            tenants.judge_peers,
            *((peers(lock=lock, a='created', b='created', c='pending'),
               base.OK, f'2 created, 1 pending; {lock_state.WRITERS[lock]}')
              for lock in ('held', 'waiting', 'not asked')),
            (peers(a='conflict', b='error', c='created', d='conflict'),
             (base.WARN, base.WARN),
             'a of router web: a is bad, d of router web: d is bad',
             'peerings with error'),
            (peers('not connected', a='created'), base.WARN,
             'cannot be asked for'),
            (peers('waiting', 'kept', a='created'), base.WARN, writer))
        for rows in 'refused', 'unreachable', '':
            said = self.judged(tenants.judge_peers, peers(
                rows=rows, a='created', b='pending'), base.WARN)
            self.assertIn(f'not in place: a of router web: {rows} (a is left)',
                          said)
            self.assertNotIn(writer, said)

    def test_probes_between_agents(self):
        probes = tenants.Probes
        self.judged_each(
            tenants.judge_probes,
            (probes(READY, {'gw2': READY, 'gw3': READY}), base.OK, '2 others'),
            (probes(DEAD, {'gw2': READY}), base.BROKEN, DEAD.why),
            (probes(DEAD, {'gw2': DEAD}), (base.BROKEN, base.WARN)))
        said = self.judged(tenants.judge_probes, probes(
            READY, {'gw2': DEAD, 'gw3': READY}), base.WARN)
        self.assertIn('gw2 (192.0.2.1 port 6643: nobody listens)', said)
        self.assertNotIn('gw3', said)
