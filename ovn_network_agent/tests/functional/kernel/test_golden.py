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

"""Every golden file is fed to the real nft and the kernel."""

import os
import shutil
import subprocess

from oslotest import base

from ovn_network_agent.tests import needs
from ovn_network_agent.tests.unit import golden

# What the original's documentation says, and nft refuses (traps T59, A-16).
REFUSED = ((' : 10.0.0.1 . 1053', ' : 10.0.0.1:1053'),
           ('ct original ip daddr', 'ct original daddr'),
           ('meta l4proto { tcp, udp } dnat', 'dnat'))


@needs.needs(os.geteuid() == 0, 'makes network namespaces: needs root')
@needs.needs(shutil.which('nft'), 'needs nft')
class GoldenTest(base.BaseTestCase):

    def nft(self, text, *arguments):
        """What nft says about a ruleset in a namespace of its own."""
        return subprocess.run(
            ['unshare', '--net', 'nft', *arguments, '-f', '-'], input=text,
            text=True, capture_output=True, check=False)

    def test_every_file_can_be_loaded(self):
        for path in sorted(golden.DIRECTORY.glob('*.nft')):
            for arguments in (['-c'], []):
                result = self.nft(path.read_text(), *arguments)
                self.assertEqual((0, ''), (result.returncode, result.stderr),
                                 path.name)

    def test_what_nft_refuses(self):
        good = (golden.DIRECTORY / 'two_vips.nft').read_text()
        for right, wrong in REFUSED:
            self.assertIn(right, good)
            result = self.nft(good.replace(right, wrong), '-c')
            self.assertNotEqual(0, result.returncode, wrong)
