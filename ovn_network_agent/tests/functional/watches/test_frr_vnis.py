# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Changes of the VNIs of a real FRR are noticed."""

import queue
import threading

from ovn_network_agent.common import notices
from ovn_network_agent.privileged.routing import monitors
from ovn_network_agent.tests import waiting
from ovn_network_agent.tests.functional.backends import vnis
from ovn_network_agent.watches.frr import frr_observers

# Seconds to wait for something that must come, on a slow machine.
SOON = 30.0


class VniTestCase(vnis.EvpnTestCase):

    def setUp(self):
        super().setUp()
        self.apply(create=(vnis.WANTED,))


class TestDigest(VniTestCase):

    def test_each_change(self):
        before = monitors.vni_digests('', True)
        self.assertEqual(before, monitors.vni_digests('', True))
        for daemon, change in (
                *(('bgpd', (vnis.INSTANCE, *lines))
                  for lines in vnis.CHANGES),
                ('zebra', (f'vrf {vnis.VRF}', 'no vni 1001'))):
            with self.subTest(change):
                self.frr.configure(*change)
                after = monitors.vni_digests('', True)
                self.assertNotEqual(before[daemon], after[daemon])
                before = after


class TestWatch(VniTestCase):
    """The watch, with both of its sides in this process."""

    def setUp(self):
        super().setUp()
        self.told = queue.SimpleQueue()
        observer = frr_observers.Vnis(self)
        observer.start(None)
        self.addCleanup(self.ended)
        self.addCleanup(observer.stop)
        self.comes('not reported')

    def notice(self, word, by):
        self.assertEqual(notices.FRR_VNIS, word)
        self.told.put(by)

    def comes(self, text):
        self.assertIn(text, self.told.get(timeout=SOON))

    def ended(self):
        waiting.eventually(lambda: not self.threads(), self.threads, SOON)

    @staticmethod
    def threads():
        return [thread.name for thread in threading.enumerate()
                if thread.name in ('VNIs of FRR-watch', 'list-monitor')]

    def test_changes(self):
        self.operator('no timers bgp')
        self.comes('the configuration of VNIs has changed in bgpd')
        self.frr.configure(f'vrf {vnis.VRF}', 'no vni 1001')
        self.comes('the configuration of VNIs has changed in zebra')
