# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A driver and a backend from two packages that know the documents only."""

import os
import signal
import subprocess
import sys

from ovn_network_agent.tests import needs
from ovn_network_agent.tests.functional.cmd import base
from ovn_network_agent.tests.functional.cmd import running
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

HERE = os.path.dirname(__file__)
DRIVER = os.path.join(HERE, 'note')
BACKEND = os.path.join(HERE, 'note_files')
MARK = '# ovn-network-agent-note\n'
RULES = '''\
port_forwards:
- vip: 203.0.113.53
  rules:
  - proto: tcp
    port: 53
    dest_addrs: [192.0.2.9]
'''


class OwnTestsTest(base.ProgramTestCase):
    """The tests that the packages have themselves."""

    def passes(self, *path):
        ended = subprocess.run(
            [sys.executable, '-BW', 'ignore', os.path.join(*path)],
            env=self.env, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=base.LIMIT)
        self.assertEqual(0, ended.returncode, ended.stderr)
        self.assertRegex(ended.stderr, r'Ran [1-9]')

    def test_driver(self):
        self.passes(DRIVER, 'test_ovna_note.py')

    def test_backend(self):
        self.install(DRIVER)
        self.passes(BACKEND, 'test_ovna_note_files.py')


@ovsdb.needs_ovsdb
@needs.needs(os.geteuid() == 0, 'makes a network namespace')
class NoteTest(running.RunningTestCase):

    def setUp(self):
        super().setUp()
        self.install(DRIVER)
        self.folder = os.path.join(self.directory, 'notes')
        os.mkdir(self.folder)
        self.socket = os.path.join(self.directory, 'control.ctl')

    def configure(self, greeting='served by', more=''):
        """Write the configuration anew; gives its path."""
        return self.config(
            '[frr]\nvrf_name =\n'
            f'[note]\nfolder = {self.folder}\ngreeting = {greeting}\n' + more,
            self.remotes, drivers='note', reconcile_interval=3600,
            shutdown_timeout=3, control_socket=self.socket)

    def router(self, name, network):
        """A router whose gateway is here; gives the UUID."""
        uuid = self.cloud.add_router(name, (network,), cloud.CHASSIS)
        self.addCleanup(self.cloud.remove_router, name)
        return uuid

    def notes(self):
        """Dict of name to text of the notes that are there."""
        found = {name: self.note(name) for name in os.listdir(self.folder)
                 if not name.endswith('.new')}
        return {name: text for name, text in found.items()
                if text is not None}

    def note(self, name):
        """The text of a note, None if the agent has just removed it."""
        try:
            with open(os.path.join(self.folder, name)) as opened:
                return opened.read().removeprefix(MARK).rstrip('\n')
        except FileNotFoundError:
            return None

    def about_notes(self):
        """What the status says about notes, a text."""
        return '\n'.join(
            reason for reason in self.status(self.socket).get('degraded', ())
            if reason.startswith(('note', 'driver note')))

    def test_from_start_to_stop(self):
        self.install(BACKEND)
        uuid, fip = self.router('r1', '198.51.100.1/24'), '198.51.100.10'

        def texts(greeting):
            return {'node': f'{greeting} gw1.example.org',
                    uuid: f'{greeting} gw1.example.org: 198.51.100.1/24'}

        def of_fip(greeting):
            return {fip: f'{greeting} gw1.example.org: '
                         'floating IP of r1'}

        self.start(self.configure())
        self.eventually(lambda: self.notes() == texts('served by'))
        self.cloud.add_nat('r1', fip)
        self.eventually(lambda: self.notes() == {
            **texts('served by'), **of_fip('served by')})
        # The table that the driver watches puts the notes in doubt.
        os.unlink(os.path.join(self.folder, uuid))
        self.cloud.nb.transact(ovsdb.insert('Address_Set', name='any'))
        self.eventually(lambda: uuid in self.notes())
        self.configure('no number', 'width = wide\n')
        self.agent.send_signal(signal.SIGHUP)
        self.eventually(lambda: 'The configuration stays as it was: [note] '
                        'width: ' in self.log())
        self.configure('on')
        self.agent.send_signal(signal.SIGHUP)
        self.eventually(lambda: self.notes() == {
            **texts('on'), **of_fip('on')})
        self.cloud.move('lrp-r1', cloud.OTHER)
        self.eventually(lambda: list(self.notes()) == ['node'])
        self.cloud.move('lrp-r1', cloud.CHASSIS)
        self.eventually(lambda: {uuid, fip} <= self.notes().keys())
        self.cloud.remove_nat('r1', fip)
        self.eventually(lambda: self.notes() == texts('on'))
        self.stop()
        self.assertEqual([], os.listdir(self.folder))
        self.assertNotIn('text=no number', self.log())

    def test_one_note_that_fails(self):
        self.install(BACKEND)
        bad = self.router('r1', '198.51.100.1/24')
        good = self.router('r2', '198.51.100.2/24')
        path = os.path.join(self.folder, bad)
        with open(path, 'w') as opened:
            opened.write('by hand\n')
        self.start(self.configure())
        self.eventually(lambda: good in self.notes())
        self.eventually(lambda: self.about_notes() == (
            f'note {bad}: {path} exists, and is not a note; remove it'))
        self.assertEqual('by hand', self.notes()[bad])
        # Nobody tells: the next attempt finds out.
        os.unlink(path)
        self.eventually(lambda: bad in self.notes())
        self.eventually(lambda: not self.about_notes())

    def dry_run(self, *more):
        return self.run_agent('--dry-run', '--config-file', *more,
                              inside=self.inside)

    def test_without_its_backend(self):
        uuid = self.router('r1', '198.51.100.1/24')
        reasons = [
            f'driver note on {on}: ValueError: no backend makes resources of '
            'the kind note; install the package that has this backend'
            for on in ('node', uuid)]
        ended = self.dry_run(self.configure())
        self.assertEqual(3, ended.returncode, ended.stderr)
        for reason in reasons:
            self.assertIn('! ' + reason, ended.stdout.splitlines())
        self.start(self.configure())
        self.eventually(
            lambda: self.about_notes().splitlines() == reasons)

    def test_without_ovn(self):
        rules = os.path.join(self.directory, 'rules.yaml')
        with open(rules, 'w') as opened:
            opened.write(RULES)
        config = self.config(
            '[frr]\nvrf_name =\n'
            f'[port_forward]\nrules_file = {rules}\nport_forward_dev = lo\n'
            f'[note]\nfolder = {self.folder}\n',
            {**self.remotes, 'nb': '', 'sb': ''},
            drivers='port_forward,note')
        ended = self.dry_run(config)
        # Everything was looked at, and a driver failed all the same.
        self.assertEqual(3, ended.returncode, ended.stderr)
        self.assertIn('! driver note on node: ', ended.stdout)
        self.install(BACKEND)
        ended = self.dry_run(config)
        self.assertEqual(0, ended.returncode, ended.stderr)
        self.assertIn('+ note name=node text=served by ', ended.stdout)
        self.assertEqual([], os.listdir(self.folder))
