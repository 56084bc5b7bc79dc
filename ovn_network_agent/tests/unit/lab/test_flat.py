# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.
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
