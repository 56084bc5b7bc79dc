# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The package of this source tree, and a later version of that package."""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tomllib

import ovn_network_agent
from ovn_network_agent.tests.packaging import root

NAME = 'ovn-network-agent-oslo'
# The package of the original program, in Go, with the same commands and unit.
ORIGINAL = 'ovn-network-agent'
TOP = pathlib.Path(ovn_network_agent.__file__).resolve().parents[1]


def programs():
    """Names of the programs that the Python package has."""
    with open(TOP / 'pyproject.toml', 'rb') as metadata:
        return list(tomllib.load(metadata)['project']['scripts'])


def build(directory, suite=None):
    """Build the package.

    :param directory: for the package
    :param suite: :data:`root.NOBLE` to build it there, or None
    :returns: pathlib.Path of the package
    :raises AssertionError: when this fails; the text has the output
    """
    command, environment = ['tools/deb', str(directory)], {'SKIP_APT': '1'}
    if suite:
        command = ['tools/versions', suite, '--', 'tools/deb', '/root/made']
        environment = {'VERSIONS_CACHE': str(root.cache())}
    built = subprocess.run(
        command, cwd=TOP, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, env={**os.environ, **environment})
    assert built.returncode == 0, built.stdout + built.stderr
    made = built.stdout.splitlines()[-1]
    return pathlib.Path(f'{root.cache()}/{suite}{made}' if suite else made)


def original(directory, version):
    """A package like that of the original program, whose agent only sleeps.

    The files have the places that those of the original have.

    :param directory: for the package
    :param version: text
    :returns: pathlib.Path of the package
    """
    tree = pathlib.Path(directory, f'original-{version}')
    for path, text in {
            'DEBIAN/control': f'Package: {ORIGINAL}\nVersion: {version}\n'
            'Architecture: all\nMaintainer: Nobody <nobody@example.org>\n'
            'Description: stand-in\n',
            'DEBIAN/conffiles': f'/etc/default/{ORIGINAL}\n',
            f'etc/default/{ORIGINAL}': '# OVN_NETWORK_DRY_RUN=true\n',
            f'etc/{ORIGINAL}/config.yaml.sample': '# vrf_name: vrf-provider\n',
            'DEBIAN/prerm': f'#!/bin/sh\nsystemctl disable --now {ORIGINAL}\n',
            f'usr/bin/{ORIGINAL}': '#!/bin/sh\nexec sleep infinity\n',
            f'lib/systemd/system/{ORIGINAL}.service': '[Service]\n'
            f'ExecStart=/usr/bin/{ORIGINAL}\n[Install]\n'
            'WantedBy=multi-user.target\n'}.items():
        made = tree / path
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_text(text)
        made.chmod(0o755 if text.startswith('#!') else 0o644)
    return _packed(tree, f'{ORIGINAL}_{version}_all.deb')


def index(packages):
    """The file Packages of a repository with these packages, a text."""
    entries = []
    for each in packages:
        fields = subprocess.run(['dpkg-deb', '-f', str(each)], check=True,
                                capture_output=True, text=True).stdout
        content = each.read_bytes()
        entries.append(f'{fields}Filename: ./{each.name}\n'
                       f'Size: {len(content):d}\nSHA256: '
                       f'{hashlib.sha256(content).hexdigest()}\n')
    return '\n'.join(entries)


def _packed(tree, name):
    made = tree.with_name(name)
    subprocess.run(['dpkg-deb', '--root-owner-group', '-Znone', '-b',
                    str(tree), str(made)], check=True,
                   stdout=subprocess.DEVNULL)
    shutil.rmtree(tree)
    return made


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
    # A help text has changed.
    sample = tree / f'usr/share/doc/{NAME}/examples/ovn-network-agent.conf'
    sample.write_text('# newer\n' + sample.read_text())
    return _packed(tree, 'newer.deb')
