# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""When a file counts as changed."""

import os

import fixtures
from oslotest import base

from ovn_network_agent.files import watched


class WatcherTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.folder = self.useFixture(fixtures.TempDir()).path
        self.path = os.path.join(self.folder, 'rules.yaml')
        self.write('one')
        self.taken = []
        self.watcher = watched.Watcher(
            lambda: self.path, lambda: self.taken.append(self.content()))

    def write(self, content, path=None):
        with open(path or self.path, 'w') as opened:
            opened.write(content)

    def content(self):
        if not os.path.exists(self.path):
            return None
        with open(self.path) as opened:
            return opened.read()

    def looks(self, times=3):
        """What is taken in some looks."""
        self.taken.clear()
        for _time in range(times):
            self.watcher.look()
        return self.taken

    def test_nothing_changed(self):
        self.assertEqual([], self.looks())

    def test_written_in_place(self):
        self.write('two, longer')
        self.assertEqual(['two, longer'], self.looks())
        self.assertEqual([], self.looks())

    def test_half_a_file_is_not_taken(self):
        """It is taken when two looks saw the same."""
        for content in ('one and', 'one and two', 'one and two and'):
            self.write(content)
            self.assertEqual([], self.looks(1))
        self.assertEqual(['one and two and'], self.looks())

    def test_another_file_in_its_place(self):
        """What careful editors do: no byte of the old one changes."""
        self.write('two', self.path + '.new')
        # Not even the time of change tells them apart.
        stat = os.stat(self.path)
        os.utime(self.path + '.new', ns=(stat.st_atime_ns, stat.st_mtime_ns))
        os.rename(self.path + '.new', self.path)
        self.assertEqual(['two'], self.looks())

    def test_a_link_that_leads_elsewhere(self):
        """Kubernetes: the link of a directory above is replaced."""
        for name in ('a', 'b'):
            os.mkdir(os.path.join(self.folder, name))
            self.write(name, os.path.join(self.folder, name, 'rules.yaml'))
        data = os.path.join(self.folder, 'data')
        os.symlink('a', data)
        self.path = os.path.join(self.folder, 'link.yaml')
        os.symlink('data/rules.yaml', self.path)
        self.assertEqual(['a'], self.looks())
        os.symlink('b', data + '.new')
        os.rename(data + '.new', data)
        self.assertEqual(['b'], self.looks())

    def test_gone_and_back(self):
        os.unlink(self.path)
        self.assertEqual([None], self.looks())
        self.write('two')
        self.assertEqual(['two'], self.looks())

    def test_another_path(self):
        self.write('two', self.path + '2')
        self.path += '2'
        self.assertEqual(['two'], self.looks())

    def test_on_request(self):
        self.watcher.look(wanted=True)
        self.assertEqual(['one'], self.taken)

    def test_who_takes_it_may_fail(self):
        def fail():
            raise ValueError('a bug')
        log = self.useFixture(fixtures.FakeLogger())
        watched.Watcher(lambda: self.path, fail).look(wanted=True)
        self.assertIn('a bug', log.output)

    def test_the_end(self):
        self.watcher.start()
        self.watcher.stop()
        self.watcher._thread.join(60)
        self.assertFalse(self.watcher._thread.is_alive())
        self.watcher.stop()
