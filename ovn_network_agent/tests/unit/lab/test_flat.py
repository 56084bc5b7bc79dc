# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The configuration of FRR without a VRF."""

import unittest

from lab import flat
from lab import frr
from lab import plan


class FlatTest(unittest.TestCase):

    def test_no_vrf_is_left(self):
        for text in frr.gateway_config('gw1'), frr.bfd_config('gw1'):
            self.assertIn(plan.VRF, text)
            self.assertNotIn('vrf', flat.without_vrf(text))

    def test_all_else_stays(self):
        before = frr.gateway_config('gw2').splitlines()
        after = flat.without_vrf('\n'.join(before)).splitlines()
        self.assertEqual(len(before) - 2, len(after))
        self.assertIn(f'router bgp {plan.GATEWAY_AS["gw2"]}', after)
        self.assertIn('no ip nht resolve-via-default', after)
