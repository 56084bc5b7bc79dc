# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

import os
import shutil
import sys

from ovn_network_agent import privileged
from ovn_network_agent.tests import needs
from ovn_network_agent.tests.functional.netlink import base
from ovn_network_agent.tests.functional.privileged import children
from ovn_network_agent.tests.functional.privileged import rootwrap_child
from ovn_network_agent.tests.functional.privileged import sudoers_child


@needs.needs(shutil.which('sudo'), 'needs sudo')
class RootwrapTest(base.KernelTestCase):

    def test_the_daemons_start_through_it(self):
        """As with Neutron: [agent] root_helper is sudo and a rootwrap."""
        path = os.path.dirname(sys.executable)
        got = children.run(rootwrap_child,
                           PATH=f'{path}:{os.environ["PATH"]}')
        self.assertEqual({c.name for c in privileged.CONTEXTS},
                         set(got['commands']))
        for command in got['commands'].values():
            self.assertTrue(command.startswith(
                f'{rootwrap_child.ROOT_HELPER} '
                f'{sudoers_child.BIN}/privsep-helper '), command)
        self.assertEqual(sudoers_child.NUMBER, got['uid'])
        self.assertEqual([], got['call'])
        self.assertIn('UP', self.shown('link show br-ex')[0]['flags'])
        self.assertEqual([], got['left'])
        self.assertEqual([], got['through'])
