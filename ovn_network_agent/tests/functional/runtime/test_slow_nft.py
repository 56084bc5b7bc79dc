# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""A change of nftables that takes long, of the real program."""

import os
import shutil

from ovn_network_agent import ownership
from ovn_network_agent.tests.functional.forward import base

OTHER = '203.0.113.54'
# It notes its process id when it is about to wait.
NFT = """#!/bin/sh
if [ -e {hold} ]; then
    echo $$ >{hold}.pid
    while [ -e {hold} ]; do sleep 0.1; done
fi
exec {nft} "$@"
"""


class SlowNftTest(base.ForwardTestCase):

    def setUp(self):
        super().setUp()
        self.hold = os.path.join(self.directory, 'hold')
        self.program('nft', NFT.format(hold=self.hold,
                                       nft=shutil.which('nft')))
        address = base.BACKENDS[0]
        self.serve(self.backend(address), address)
        self.write_rules(base.rules([address]))

    def waiting(self):
        """The process id of the program that waits, 0 without one."""
        try:
            with open(self.hold + '.pid') as opened:
                return int(opened.read() or 0)
        except FileNotFoundError:
            return 0

    def test_nothing_else_waits_for_it(self):
        self.start(self.alone(reconcile_interval=3600))
        self.eventually(lambda: self.vips() == [base.VIP])
        open(self.hold, 'w').close()
        self.write_rules(base.rules([base.BACKENDS[0]]) + base.rules(
            [base.BACKENDS[0]]).split('\n', 1)[1].replace(base.VIP, OTHER))
        self.eventually(self.waiting)
        self.sh(f'ip address del {ownership.ANCHOR} dev loopback1')
        self.eventually(lambda: ownership.ANCHOR in self.sh(
            'ip -o address show dev loopback1'))
        # The change was neither over nor given up by then, and what needs
        # the change has waited.
        os.kill(self.waiting(), 0)
        self.assertNotIn(OTHER, self.vips())
        os.unlink(self.hold)
        self.eventually(lambda: OTHER in self.vips())
        self.assertEqual([], self.status()['degraded'])
