# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The package and the role bring bare gateways of the lab to floating IPs.

What needs a network is made here: the root of the gateways, the package, the
image.  The plays run inside of the lab's machine (``inside``).
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import testtools

from ovn_network_agent.tests import needs
from ovn_network_agent.tests.packaging import host
from ovn_network_agent.tests.packaging import image
from ovn_network_agent.tests.packaging import kolla
from ovn_network_agent.tests.packaging import package
from ovn_network_agent.tests.packaging import root

# Seconds for one play.  With twenty other processes at work on two processors,
# that of the role took half an hour.
LIMIT = 3600
# Of the machine: two gateways write into memory.
MEMORY = '5G'
BUILD = package.TOP / 'build'


class PlayTestCase(testtools.TestCase):
    """Not of oslotest: with another HOME the root would be made anew."""

    def setUp(self):
        super().setUp()
        # The machine has a /tmp of its own.
        BUILD.mkdir(exist_ok=True)
        self.folder = pathlib.Path(tempfile.mkdtemp(
            prefix='play-', dir=BUILD))
        self.addCleanup(shutil.rmtree, self.folder)

    def play(self, name, **where):
        """Run the tests of a module inside of the lab's machine.

        :param where: variables for the module
        """
        done = subprocess.run(
            [sys.executable, '-m', 'lab', 'run', '--mem', MEMORY, '--log',
             str(self.folder / 'kernel.log'), '--', sys.executable, '-m',
             'testtools.run', f'ovn_network_agent.tests.packaging.inside.'
             f'{name}'], cwd=package.TOP, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=LIMIT, env={**os.environ, **{
                key: str(value) for key, value in where.items()}})
        for line in done.stdout.splitlines():
            # What was measured, see lab.base.note().
            if line.startswith(('    upgrade: ', '    downgrade',
                                '    swap: ')):
                print(line)
        self.assertEqual(0, done.returncode, done.stdout)


@needs.needs(os.geteuid() == 0 and shutil.which('debootstrap'),
             'makes a root file system with debootstrap')
class PackageOnGatewaysTest(PlayTestCase):
    """Gateways with Debian 12.

    :cvar suite: as for :func:`package.build`
    """

    suite = None

    def test_the_play(self):
        made = package.build(self.folder, self.suite)
        self.play('package_play', DEPLOYED_ROOT=host.gateway(self.suite),
                  DEPLOYED_PACKAGE=os.environ.get('EARLIER_PACKAGE', made),
                  DEPLOYED_ORIGINAL_PACKAGE=package.original(
                      self.folder, '0.9.0'),
                  DEPLOYED_NEWER_PACKAGE=package.renewed(
                      made, self.folder, '9:1'))


class PackageOnUbuntuGatewaysTest(PackageOnGatewaysTest):
    """Gateways with Ubuntu 24.04."""

    suite = root.NOBLE


@needs.needs(os.geteuid() == 0 and shutil.which('debootstrap') and
             shutil.which('buildah'),
             'makes an image with debootstrap and buildah')
class RoleOnGatewaysTest(PlayTestCase):

    def test_the_play(self):
        gateway, environment = host.gateway(), kolla.environment()
        images = image.Images(self.folder, environment, gateway)
        plays = self.folder / 'ansible'
        kolla.plays(environment, plays)
        self.play('role_play', DEPLOYED_ROOT=gateway,
                  DEPLOYED_KOLLA=environment, DEPLOYED_PLAYS=plays,
                  DEPLOYED_IMAGES=images.path)
