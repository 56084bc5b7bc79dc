# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What an operator wants to be drained, as the view has it."""

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.runtime import snapshot_problems
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.unit.ovn import clouds

ONE = '11111111-aaaa-4bbb-8ccc-0123456789ab'
TWO = '22222222-aaaa-4bbb-8ccc-0123456789ab'


class DrainsTest(clouds.CloudTestCase):

    def sees(self, eyes, text, *drains):
        """Compare what a text drains, None for no text; its problems."""
        self.tell(ovn_bridge_mappings=f'physnet1:{cloud.BRIDGE}', **(
            {} if text is None else {ownership.EXT_ID_DRAIN: text}))
        seen = eyes.look()
        self.assertEqual(frozenset(drains), seen.node.drains)
        return snapshot_problems.SnapshotProblems().problems(
            seen, (cloud.BRIDGE,), True)

    def test_one_router_all_and_none(self):
        self.cloud.add_router('r1', chassis=cloud.CHASSIS)
        eyes = self.eyes()
        for text, drains in ((None, ()), (ONE, [ONE]),
                             (f'{TWO}, {ONE.upper()}', [ONE, TWO]),
                             ('all', [model.ALL]), (None, ())):
            self.assertEqual((), self.sees(eyes, text, *drains))

    def test_what_is_malformed_costs_only_itself(self):
        found = self.sees(self.eyes(), f'everything,{ONE},,{TWO}-', ONE)
        self.assertEqual(2, len(found), found)
        for text, part in zip(found, (TWO + '-', 'everything')):
            for each in (ownership.EXT_ID_DRAIN, f"'{part}'",
                         'ovn-network-agent-ctl'):
                self.assertIn(each, text)
