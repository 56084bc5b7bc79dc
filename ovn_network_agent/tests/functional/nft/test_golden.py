# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Every golden file before the real nft, and every table in the kernel."""

import subprocess

from ovn_network_agent.drivers import port_forward
from ovn_network_agent.tests.functional.nft import base
from ovn_network_agent.tests.unit import golden

# What the original's documentation says, and nft refuses (row A-16).
REFUSED = ((' : 10.0.0.1 . 1053', ' : 10.0.0.1:1053'),
           ('ct original ip daddr', 'ct original daddr'),
           ('meta l4proto { tcp, udp } dnat', 'dnat'))


class GoldenTest(base.NftTestCase):

    def check(self, text):
        """What nft says about a ruleset."""
        return subprocess.run(['nft', '-c', '-f', '-'], input=text,
                              text=True, capture_output=True, check=False)

    def test_nft_takes_every_file(self):
        for path in sorted(golden.DIRECTORY.glob('*.nft')):
            result = self.check(path.read_text())
            self.assertEqual((0, ''), (result.returncode, result.stderr),
                             path.name)

    def test_nft_refuses_what_the_original_says(self):
        """Trap T59."""
        good = (golden.DIRECTORY / 'two_vips.nft').read_text()
        for right, wrong in REFUSED:
            self.assertIn(right, good)
            result = self.check(good.replace(right, wrong))
            self.assertNotEqual(0, result.returncode, wrong)

    def test_every_table_is_loaded_and_known_again(self):
        """Trap T59, and what nft makes of it."""
        for name, case in golden.cases().items():
            with self.subTest(name):
                _version, _vips, manner = case
                self.fix_limits(self.configure(base.VRF if manner.vrf else ''))
                table = port_forward.wanted(*case)
                self.load(table)
                self.assertEqual([], self.change(self.backend,
                                                 delete=[table]))

    def test_a_backend_dies_and_comes_back(self):
        """All tables of one VIP, one in the place of the other."""
        rule = golden.rule(1, 1, 1)
        for manner in (golden.IN_VRF, golden.CONSISTENT):
            before = port_forward.wanted(4, (golden.vip(rule),), manner)
            after = port_forward.wanted(
                4, (golden.vip(golden.without(rule, 1)),), manner)
            self.load(before)
            self.assertEqual([after], self.change(
                self.backend, update=[(before, after)]))
            self.assertEqual([before], self.change(
                self.backend, update=[(after, before)]))
            self.change(self.backend, delete=[before])
