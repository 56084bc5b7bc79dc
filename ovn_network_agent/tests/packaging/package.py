# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The package of this source tree, and a later version of that package."""

import os
import pathlib
import re
import shutil
import subprocess

import ovn_network_agent

TOP = pathlib.Path(ovn_network_agent.__file__).resolve().parents[1]


def build(directory):
    """Build the package.

    :param directory: for the package
    :returns: pathlib.Path of the package
    :raises AssertionError: when this fails; the text has the output
    """
    built = subprocess.run(
        ['tools/deb', str(directory)], cwd=TOP, stdin=subprocess.DEVNULL,
        capture_output=True, text=True,
        env={**os.environ, 'SKIP_APT': '1'})
    assert built.returncode == 0, built.stdout + built.stderr
    return pathlib.Path(built.stdout.splitlines()[-1])


def renewed(package, directory, version):
    """The same package with another version and a changed sample file.

    The Python package has the other version, too, without an epoch.

    :param package: pathlib.Path of a package
    :param directory: for the new package
    :param version: text
    :returns: pathlib.Path of the new package
    """
    tree = pathlib.Path(directory, 'tree')
    subprocess.run(['dpkg-deb', '-R', str(package), str(tree)], check=True)
    control = tree / 'DEBIAN/control'
    control.write_text(''.join(
        f'Version: {version}\n' if line.startswith('Version: ') else line
        for line in control.read_text().splitlines(keepends=True)))
    metadata, = tree.glob('opt/ovn-network-agent/lib/*/site-packages/'
                          'ovn_network_agent-*.dist-info/METADATA')
    metadata.write_text(re.sub(
        '^Version: .*$', f'Version: {version.partition(":")[2]}',
        metadata.read_text(), count=1, flags=re.M))
    sample = tree / 'etc/ovn-network-agent/ovn-network-agent.conf'
    sample.write_text('# newer\n' + sample.read_text())
    made = pathlib.Path(directory, 'newer.deb')
    subprocess.run(['dpkg-deb', '--root-owner-group', '-Znone', '-b',
                    str(tree), str(made)], check=True,
                   stdout=subprocess.DEVNULL)
    shutil.rmtree(tree)
    return made
