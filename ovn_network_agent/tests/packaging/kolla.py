# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""kolla and kolla-ansible, with our role and our image template in them."""

import shutil
import sys

from ovn_network_agent.tests.packaging import host
from ovn_network_agent.tests.packaging import package
from ovn_network_agent.tests.packaging import root

VERSIONS = ('ansible-core==2.19.14', 'kolla-ansible==22.2.0',
            'kolla==23.0.0', 'podman==5.8.0')
CONTRIB = package.TOP / 'contrib' / 'kolla'
_USERS = 'USERS = {'


def environment():
    """Path of a virtual environment with both, made on first use."""
    return root.kept('kolla', ' '.join((*VERSIONS, sys.version)), _make)


def _make(path):
    host.run(sys.executable, '-m', 'venv', str(path))
    host.run(str(path / 'bin/pip'), 'install', '--quiet', *VERSIONS)


def plays(environment, directory):
    """Our directory over that of kolla-ansible, as the documentation says.

    :param environment: of :func:`environment`
    :param directory: that is not there yet
    """
    shutil.copytree(environment / 'share/kolla-ansible/ansible', directory)
    shutil.copytree(CONTRIB / 'ansible', directory, dirs_exist_ok=True)


def rendered(environment, directory):
    """What kolla makes of our template, with our user in its list.

    :param environment: of :func:`environment`
    :param directory: to write to
    :returns: pathlib.Path of the directory with the Dockerfile
    """
    code = directory / 'code'
    shutil.copytree(sources(environment), code / 'kolla')
    users = code / 'kolla/common/users.py'
    users.write_text(users.read_text().replace(
        _USERS, _USERS + '\n' +
        (CONTRIB / 'users.py.fragment').read_text(), 1))
    host.run(str(environment / 'bin/python'), '-c',
             'import sys; sys.path.insert(0, sys.argv.pop(1)); '
             'from kolla.cmd import build; sys.exit(build.main())',
             str(code), '--engine', 'podman', '--template-only',
             '--config-file', str(CONTRIB / 'kolla-build.conf'),
             '--docker-dir', str(CONTRIB / 'docker'), '--base', 'debian',
             '--work-dir', str(directory / 'work'), 'ovn-network-agent')
    return directory / 'work/docker/ovn-network-agent'


def sources(environment):
    """pathlib.Path of kolla's Python package."""
    found, = (environment / 'lib').glob('python3*/site-packages/kolla')
    return found
