# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""SIGHUP and the real program: which drivers it asks again."""

import os
import re
import signal

from ovn_network_agent.tests import needs
from ovn_network_agent.tests.functional.cmd import running
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

PLUGINS = os.path.join(os.path.dirname(os.path.dirname(__file__)), 'plugin')
# A pass after a reload, and what its drivers were asked about.
PASS = re.compile(r'Asked drivers \d+ times: (.*) update .*\n'
                  r'(?:(?!.*Asked ).*\n)*?.*Pass for .*configuration.*'
                  r' \(full\)')


@ovsdb.needs_ovsdb
@needs.needs(os.geteuid() == 0, 'makes a network namespace')
class ReloadTest(running.RunningTestCase):
    """With a driver of this project and two of packages."""

    def setUp(self):
        super().setUp()
        for package in ('note', 'note_files', 'anycast'):
            self.install(os.path.join(PLUGINS, package))
        self.write_vtysh()
        self.notes = os.path.join(self.directory, 'notes')
        os.mkdir(self.notes)

    def configure(self, greeting='served by', method='kernel', **default):
        """Write the configuration anew; gives its path."""
        return self.config(
            '[frr]\nvrf_name =\nfrr_prefix_list =\n'
            f'[fip_route]\nannounce_method = {method}\n'
            f'[note]\nfolder = {self.notes}\ngreeting = {greeting}\n'
            '[anycast]\ndevice = br-ex\naddress = 192.0.2.53/32\n',
            self.remotes, drivers='fip_route,note,anycast', debug='true',
            driver_devices='br-ex', reconcile_interval=3600,
            shutdown_timeout=3, **default)

    def asked(self):
        """For each reload: set of what drivers were asked about."""
        return [{*names.split(', ')} - {''}
                for names in PASS.findall(self.log())]

    def reload(self, *args, **kwargs):
        """Reload with these values; gives the answer of :meth:`asked`."""
        before = len(self.asked())
        self.configure(*args, **kwargs)
        self.agent.send_signal(signal.SIGHUP)
        self.eventually(lambda: len(self.asked()) > before)
        return self.asked()[-1]

    def note(self):
        """The note of the node, '' when there is none."""
        try:
            with open(os.path.join(self.notes, 'node')) as opened:
                return opened.read()
        except FileNotFoundError:
            return ''

    def test_only_what_it_has_changed_is_computed(self):
        uuid = self.cloud.add_router('r1', ('198.51.100.1/24',),
                                     cloud.CHASSIS)
        self.addCleanup(self.cloud.remove_router, 'r1')
        self.start(self.configure())
        self.eventually(lambda: uuid in os.listdir(self.notes))
        self.assertEqual(set(), self.reload())
        names = self.reload('on')
        self.assertLessEqual({'note node', f'note {uuid}'}, names)
        self.assertEqual({'note'}, {n.partition(' ')[0] for n in names})
        self.eventually(lambda: 'on gw1' in self.note())
        names = self.reload('on', 'static')
        self.assertEqual({'fip_route'},
                         {n.partition(' ')[0] for n in names})
        # One option of the core, and one that waits for a restart.
        self.assertEqual(set(), self.reload('on', 'static', bridge_ip='',
                                            cleanup_on_shutdown='false'))
