# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""tools/release, in a clone whose last commit has a tag."""

import glob
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest

from ovn_network_agent.tests import tools
from ovn_network_agent.tests import tree

VERSION = '1.2.3'
STEM = f'ovn_network_agent-{VERSION}'
ARCHIVE, WHEEL = f'{STEM}.tar.gz', f'{STEM}-py3-none-any.whl'
COMPONENTS = f'ovn-network-agent-{VERSION}.cdx.json'
# The environments stay for the next run, as those of the command do.
WORK = os.path.join(tree.ROOT, 'build', 'release')
PACKAGES = '''
from importlib import metadata
import json
print(json.dumps({one.name: one.version for one in metadata.distributions()}))
'''


def clean_environment():
    """The environment without what would name another version.

    tools/test names the interpreter by its place in the source tree.
    """
    return {**{name: value for name, value in os.environ.items()
               if not name.startswith(('PBR_', 'SKIP_', 'GIT_'))},
            'PYTHON': sys.executable}


def git(directory, *words):
    subprocess.run(
        ['git', '-c', 'user.name=Nobody', '-c', 'user.email=nobody@localhost',
         *words], cwd=directory, check=True, capture_output=True)


class ReleaseTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        directory = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.clone = os.path.join(directory, 'clone')
        cls.out = os.path.join(directory, 'out')
        tree.copy(cls.clone)
        git(cls.clone, 'init', '-q')
        git(cls.clone, 'add', '-A')
        git(cls.clone, 'commit', '-q', '-m', 'A commit for a release.')
        git(cls.clone, 'tag', VERSION)
        cls.made = cls.release(cls.out)

    @classmethod
    def release(cls, out):
        return subprocess.run(
            [os.path.join(cls.clone, 'tools', 'release'), out],
            env={**clean_environment(), 'RELEASE_WORK': WORK},
            stdin=subprocess.DEVNULL, capture_output=True, text=True)

    def setUp(self):
        self.assertEqual(0, self.made.returncode,
                         self.made.stdout + self.made.stderr)
        self.artefacts = tools.load('artefacts')

    def path(self, name):
        return os.path.join(self.out, name)

    def test_files_of_the_version_of_the_tag(self):
        self.assertEqual(
            sorted([ARCHIVE, WHEEL, COMPONENTS, 'SHA256SUMS']),
            sorted(os.listdir(self.out)))
        checked = subprocess.run(
            ['sha256sum', '--strict', '-c', 'SHA256SUMS'], cwd=self.out,
            capture_output=True, text=True)
        self.assertEqual((0, 3), (checked.returncode,
                                  checked.stdout.count(': OK')))
        for said in (self.artefacts.read_wheel(self.path(WHEEL)),
                     self.artefacts.read_archive(self.path(ARCHIVE))):
            self.assertEqual(VERSION, said['Version'])

    def test_the_wheel_is_complete(self):
        """It was made from the archive, and compared with the tree's."""
        with tarfile.open(self.path(ARCHIVE)) as archive:
            self.assertNotIn(f'{STEM}/.git', archive.getnames())
        released = self.artefacts.contents(self.path(WHEEL))
        self.assertEqual([], self.artefacts.superfluous(released))
        programs = self.artefacts.programs_of(self.path(WHEEL))
        self.assertIn('ovn-network-agent-ctl', programs)
        self.assertEqual([], self.artefacts.lacking(released, programs))
        self.assertIn('ovn_network_agent/cmd/agent.py', released)

    def test_the_components_are_what_is_installed(self):
        python, = glob.glob(os.path.join(WORK, 'runtime', 'bin', 'python'))
        done = subprocess.run([python, '-I', '-c', PACKAGES], check=True,
                              capture_output=True, text=True)
        installed = json.loads(done.stdout)
        with open(self.path(COMPONENTS)) as opened:
            document = json.load(opened)
        agent = document['metadata']['component']
        self.assertEqual(('ovn-network-agent', VERSION, 'application'),
                         (agent['name'], agent['version'], agent['type']))
        self.assertEqual(
            installed,
            {one['name']: one['version'] for one in
             [agent, *document['components']]})
        self.assertEqual(set(), {'oslo.config', 'ovs', 'ovsdbapp', 'pyroute2'}
                         - set(installed))
        # What the agent itself needs is in the graph of the dependencies.
        own, = [one for one in document['dependencies']
                if one['ref'] == agent['bom-ref']]
        self.assertTrue(any(ref.startswith('ovsdbapp==')
                            for ref in own['dependsOn']), own)

    def test_a_tree_that_differs_from_its_tag(self):
        path = os.path.join(self.clone, 'README.rst')
        with open(path) as opened:
            text = opened.read()
        self.addCleanup(self.write, path, text)
        self.write(path, text + '\nMore.\n')
        other = self.path(os.path.join(os.pardir, 'other'))
        done = self.release(other)
        self.assertNotEqual(0, done.returncode)
        self.assertIn(f'differs from its tag {VERSION}', done.stderr)
        self.assertFalse(os.path.exists(other))

    def write(self, path, text):
        with open(path, 'w') as opened:
            opened.write(text)
