# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What is built for others to install: the wheel and the source archive."""

import os
import subprocess
import sys
import tarfile
import zipfile

import fixtures
from oslotest import base

from ovn_network_agent.tests import tree

CODE = '''
import sys
from pbr import build
getattr(build, sys.argv[1])(sys.argv[2])
'''
SHARE = '.data/data/share/ovn-network-agent/'


class PackageTest(base.BaseTestCase):
    """Built from a tree without git, as from an archive of a forge."""

    def setUp(self):
        super().setUp()
        self.tree = self.useFixture(fixtures.TempDir()).path
        self.out = self.useFixture(fixtures.TempDir()).path
        tree.copy(self.tree)
        env = {name: value for name, value in os.environ.items()
               if not name.startswith(('PBR_', 'SKIP_'))}
        # As pip does: a process for each.
        for hook in ('build_wheel', 'build_sdist'):
            built = subprocess.run(
                [sys.executable, '-c', CODE, hook, self.out], cwd=self.tree,
                env=env, stdin=subprocess.DEVNULL, capture_output=True,
                text=True)
            self.assertEqual(0, built.returncode, built.stdout + built.stderr)

    def built(self, ending):
        name, = [name for name in os.listdir(self.out)
                 if name.endswith(ending)]
        return os.path.join(self.out, name)

    def test_contents(self):
        with zipfile.ZipFile(self.built('.whl')) as wheel:
            names = wheel.namelist()
        self.assertEqual([], [name for name in names if '/tests/' in name])
        shared = {name.partition(SHARE)[2] for name in names if SHARE in name}
        self.assertLessEqual({
            'ovn-network-agent.conf.sample', 'port-forwards.yaml.sample',
            'network-peers.yaml.sample', 'egress-ips.yaml.sample',
            'oslo-config-generator/ovn-network-agent.conf',
            'contrib/systemd/ovn-network-agent.service'}, shared)
        # Whatever else contrib/ has is there, too.
        self.assertEqual(
            {name for name in tree.files() if name.startswith('contrib/')},
            {name for name in shared if name.startswith('contrib/')})
        modules = {name for name in tree.files() if name.endswith('.py') and
                   name.startswith('ovn_network_agent/') and
                   '/tests/' not in name}
        self.assertEqual(modules, {name for name in names
                                   if name.startswith('ovn_network_agent/')})
        with tarfile.open(self.built('.tar.gz')) as archive:
            source = {name.partition('/')[2] for name in archive.getnames()}
        self.assertEqual(set(), modules - source)
        self.assertEqual(set(), {
            'setup.py', 'setup.cfg', 'pyproject.toml', 'requirements.txt',
            'LICENSE', 'README.rst', 'tools/test', 'bindep.txt',
            'contrib/systemd/ovn-network-agent.service',
            'doc/source/install/index.rst', 'lab/places.py',
            'ovn_network_agent/tests/unit/test_package.py'} - source)
