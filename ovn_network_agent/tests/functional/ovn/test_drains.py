# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What an operator wants to be drained, as the view has it."""

from ovn_network_agent import model
from ovn_network_agent import ownership
from ovn_network_agent.runtime import snapshot_problems
from ovn_network_agent.tests.functional.ovn import base
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

ONE = '11111111-aaaa-4bbb-8ccc-0123456789ab'
TWO = '22222222-aaaa-4bbb-8ccc-0123456789ab'


class DrainsTest(base.OvsdbTestCase):

    def wish(self, text):
        """Write it as an operator would, with ovs-vsctl."""
        key = ownership.EXT_ID_DRAIN
        self.ovs.transact(
            ovsdb.mutate('Open_vSwitch', {}, 'external_ids', 'delete',
                         ovsdb.ovsdb_set((key,))),
            *([ovsdb.mutate('Open_vSwitch', {}, 'external_ids', 'insert',
                            ovsdb.ovsdb_dict({key: text}))]
              if text is not None else ()))

    def sees(self, eyes, *drains):
        self.eventually(
            lambda: eyes.look().node.drains == frozenset(drains),
            f'drains: {drains}')

    def test_one_router_all_and_none(self):
        self.cloud.add_router('r1', chassis=cloud.CHASSIS)
        eyes = self.eyes()
        self.sees(eyes)
        self.wish(ONE)
        self.sees(eyes, ONE)
        self.wish(f'{TWO}, {ONE.upper()}')
        self.sees(eyes, ONE, TWO)
        self.wish('all')
        self.sees(eyes, model.ALL)
        self.wish(None)
        self.sees(eyes)
        self.assertEqual((), snapshot_problems.SnapshotProblems().problems(
            eyes.look(), (cloud.BRIDGE,), True))

    def test_what_is_malformed_costs_only_itself(self):
        eyes = self.eyes()
        self.wish(f'everything,{ONE},,{TWO}-')
        self.sees(eyes, ONE)
        found = snapshot_problems.SnapshotProblems().problems(
            eyes.look(), (cloud.BRIDGE,), True)
        self.assertEqual(2, len(found), found)
        for text, part in zip(found, (TWO + '-', 'everything')):
            self.assertIn(ownership.EXT_ID_DRAIN, text)
            self.assertIn(f"'{part}'", text)
            self.assertIn('ovn-network-agent-ctl', text)
