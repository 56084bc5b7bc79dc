# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What explain says of a VIP."""

from ovn_network_agent.tests.lab import base
from ovn_network_agent.tests.lab import explaining
from ovn_network_agent.tests.lab import forwarding as pf


class Explained(explaining.Explaining):
    """Tests; see :mod:`ovn_network_agent.tests.lab.forwarding`."""

    def test_a_vip_is_explained(self):
        """All layers, the destinations, and the connections to them."""
        self.asked(pf.PLAIN, 80)
        self.asked(pf.PLAIN, 81)
        for address in (pf.PLAIN, pf.PLAIN6):
            status, said = self.explain(address)
            self.assertEqual((0, 'ok', 'VIP'), (
                status, said['outcome'], said['kind']), said)
            self.assertEqual(set(), {
                (one['check'], one['verdict']) for one in said['findings']
                if one['verdict'] != 'OK'}, said)
        base.note(self.cloud.agents['gw1'].ctl(
            'explain', pf.PLAIN, check=False).stdout)
        evidence = {one['check']: one['evidence'] for one
                    in self.explain(pf.PLAIN)[1]['findings']}
        self.assertIn(f'tcp/80 to {pf.LOCAL}', evidence['backends'])
        self.assertRegex(evidence['nft-rules'],
                         rf'[1-9]\d* connections? at present: .*{pf.LOCAL}')
        self.assertIn(pf.REMOTE, evidence['nft-rules'])
