# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

import os
import shutil

import setuptools
from setuptools.command import build_py

# The version of a tree that knows none: neither a clone nor a source archive.
UNKNOWN = '0.0.1'


class BuildPy(build_py.build_py):
    """Leaves the tests out of what is installed."""

    def run(self):
        """Build, and take the tests away again."""
        super().run()
        if not getattr(self, 'editable_mode', False):
            shutil.rmtree(os.path.join(self.build_lib, 'ovn_network_agent',
                                       'tests'), ignore_errors=True)


class Distribution(setuptools.Distribution):
    """Knows the command above; pbr replaces the argument cmdclass."""

    def get_command_class(self, command):
        """The class of a command of the build."""
        if command == 'build_py':
            return BuildPy
        return super().get_command_class(command)


HERE = os.path.dirname(os.path.abspath(__file__))
if not any(os.path.exists(os.path.join(HERE, name))
           for name in ('.git', 'PKG-INFO')):
    os.environ.setdefault('PBR_VERSION', UNKNOWN)
    # Where reno is installed it would look for the history.
    os.environ.setdefault('SKIP_GENERATE_RENO', '1')
setuptools.setup(setup_requires=['pbr>=7.0.1'], pbr=True,
                 distclass=Distribution)
