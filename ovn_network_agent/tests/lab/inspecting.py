# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""fips, plan, resync and status beside an agent that does its work."""

import json

from lab import node as nodes
from lab import plan
from ovn_network_agent import ownership
from ovn_network_agent.tests.lab import base

_AT_LAST = 30
# Exit status of "plan" for a difference.
_DIFFERENT = 2


class Inspection:
    """Tests of an AlphaTestCase."""

    def ctl(self, *argv):
        """(exit status, answer)."""
        done = self.agent.ctl(*argv, '--json', check=False)
        self.assertEqual('', done.stderr)
        return done.returncode, json.loads(done.stdout)

    def plan(self):
        """(exit status, set of (verb, kind))."""
        status, found = self.ctl('plan')
        return status, {(step['verb'], step['kind'])
                        for step in found['steps']}

    def test_an_address_with_all_that_was_made_for_it(self):
        status, found = self.ctl('fips', self.fip.address)
        self.assertEqual(0, status)
        one, = found['addresses']
        self.assertEqual(('fip', 'announced', ''), tuple(
            one[key] for key in ('kind', 'state', 'why')))
        self.assertEqual({'in place'}, {row['state']
                                        for row in one['resources']})
        self.assertLessEqual(
            {'kernel_route', 'flow', 'announcement', 'default_route'},
            {row['kind'] for row in one['resources']})
        shown = self.agent.ctl('fips').stdout
        base.note(shown)
        self.assertIn(self.fip.address, shown)

    def test_a_plan_is_what_resync_then_does(self):
        nodes.wait_until('there is no difference',
                         lambda: self.plan() == (0, set()), _AT_LAST)
        passes = self.ctl('status')[1]['passes']
        self.assertFalse(any(done['trouble'] for done in passes), passes)
        # The periodic comparison may come in between; then once more.
        nodes.wait_until('plan and resync have the lost flows',
                         self.lose_flows, _AT_LAST)
        self.assertEqual((0, set()), self.plan())
        repairs = {repair['kind']: repair['count']
                   for repair in self.ctl('status')[1]['repairs']}
        self.assertLess(0, repairs['flow'])
        self.reach(self.client, 'icmp', self.fip.address)
        base.note(self.agent.ctl('status').stdout)

    def lose_flows(self):
        """Whether the plan shows lost flows, and resync makes them again."""
        self.node.out('ovs-ofctl', 'del-flows', plan.BRIDGE,
                      f'cookie={ownership.COOKIE_HAIRPIN:#x}/-1')
        planned = self.plan()
        status, found = self.ctl('resync', 'flow')
        made = {(change['verb'], change['kind'])
                for change in found['changes']}
        return (planned, status, made) == (
            (_DIFFERENT, {('create', 'flow')}), 0, {('created', 'flow')})
