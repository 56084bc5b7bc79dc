# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Where the clone may lie, and from which source the kernel is built."""

import os
import subprocess
import sys
import tempfile

import fixtures
from oslotest import base

from lab import birth
from lab import boot
from lab import kernel
from lab import places

# A path that a shell, and the command line of a kernel, take for two words.
ODD = "a b'c\"d$e"


class PlacesTest(base.BaseTestCase):

    def test_the_first_program_of_the_machine(self):
        """The paths of Python and of the tree may have any character."""
        directory = self.useFixture(fixtures.TempDir()).path
        odd = os.path.join(self.useFixture(fixtures.TempDir()).path, ODD)
        os.mkdir(odd)
        init, python = os.path.join(odd, 'init.py'), os.path.join(odd, 'py')
        os.symlink(sys.executable, python)
        with open(init, 'w', encoding='utf-8') as opened:
            opened.write('import sys; print(sys.argv[1:])')
        self.useFixture(fixtures.MonkeyPatch('lab.boot.INIT', init))
        self.useFixture(fixtures.MonkeyPatch('sys.executable', python))
        boot.write_init(directory)
        self.assertEqual(f'{[directory]}\n', subprocess.run(
            [boot.init_of(directory)], check=True, capture_output=True,
            text=True).stdout)

    def test_a_temporary_directory_that_is_no_word(self):
        self.addCleanup(setattr, tempfile, 'tempdir', tempfile.tempdir)
        for path, used in (('/tmp', '/tmp'), ('/var/tmp/x-1', '/var/tmp/x-1'),
                           ('/var/tmp/' + ODD, '/tmp')):
            tempfile.tempdir = path
            self.assertEqual(used, boot.temporary_directory())

    def test_whatever_a_node_has_of_its_own_is_carried_in(self):
        for name in (*birth.VOLATILE, *birth.DISK):
            clone = name + '/clone'
            self.assertEqual([clone], places.hidden([clone], places.NODE))
        self.assertEqual([], places.hidden(
            ['/var/tmporary/clone', '/srv/clone'], places.NODE))

    def test_what_the_machine_itself_shows_is_not_mounted_over(self):
        self.assertEqual(['/dev/shm/clone', '/tmp/clone'], places.hidden(
            ['/tmp/clone', '/var/tmp/clone', '/dev/shm/clone'],
            places.MACHINE))

    def test_the_tree_that_symbolic_links_lead_to(self):
        """The machine's own /tmp would hide the files behind the links."""
        linked = os.path.join(self.useFixture(fixtures.TempDir()).path, 'tree')
        os.mkdir(linked)
        os.symlink(os.path.join(places.TOP, 'lab'),
                   os.path.join(linked, 'lab'))
        needed = subprocess.run(
            [sys.executable, '-c', 'from lab import places; '
             'print(*sorted(places.needed()), sep="\\n")'], cwd=linked,
            env={**os.environ, 'PYTHONPATH': linked}, check=True,
            capture_output=True, text=True).stdout.splitlines()
        self.assertLessEqual({linked, os.path.realpath(places.TOP)},
                             set(needed))

    def test_another_file_system_than_that_of_the_root(self):
        self.assertEqual(['/proc/self'], places.elsewhere(
            ['/proc/self', '/']))


class SourceTest(base.BaseTestCase):

    def test_the_named_series_comes_first(self):
        paths = ['/usr/src/linux-source-7.2.tar.xz',
                 '/usr/src/linux-source-7.3.tar.xz',
                 '/usr/src/linux-source-6.12.tar.xz']
        self.useFixture(fixtures.EnvironmentVariable('LAB_SERIES'))
        self.assertEqual('/usr/src/linux-source-7.3.tar.xz',
                         kernel.source(paths))
        self.useFixture(fixtures.EnvironmentVariable('LAB_SERIES', '6.12'))
        self.assertEqual('/usr/src/linux-source-6.12.tar.xz',
                         kernel.source(paths))

    def test_one_that_is_tried_comes_before_newer_ones(self):
        self.assertEqual(
            '/usr/src/linux-source-6.12.tar.xz', kernel.source([
                '/usr/src/linux-source-6.1.tar.xz',
                '/usr/src/linux-source-6.12.tar.xz',
                '/usr/src/linux-source-6.17.tar.xz']))

    def test_otherwise_the_newest(self):
        self.assertEqual(
            '/usr/src/linux-source-6.11.0.tar.bz2', kernel.source([
                '/usr/src/linux-source-6.8.0.tar.bz2',
                '/usr/src/linux-source-6.11.0.tar.bz2',
                '/usr/src/linux-source-notes.tar.gz']))

    def test_none(self):
        error = self.assertRaises(kernel.KernelError, kernel.source, [])
        self.assertIn('install the package linux-source-6.12', str(error))


class MemoryTest(base.BaseTestCase):

    def test_a_place_without_room_is_not_taken(self):
        # The file system of /proc has no room at all.
        self.assertIn('cannot be written to', boot.unfit('/proc/none'))
        small = self.useFixture(fixtures.TempDir()).path
        stat = os.statvfs(small)
        self.assertIn('MiB free of the', boot.unfit(
            small, stat.f_frsize * stat.f_blocks + 1))

    def test_none_will_do(self):
        error = self.assertRaises(boot.BootError, boot.memory_directory,
                                  room=1 << 60)
        self.assertIn('TMPDIR=', str(error))
        self.assertIn('/dev/shm', str(error))
