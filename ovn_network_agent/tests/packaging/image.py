# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The image for kolla, built by buildah without a container engine.

The base image of kolla needs package sources that are not in reach
everywhere.  So the root of a gateway stands in for it, with the files and the
users that kolla puts into its base images.
"""

import pathlib
import re
import shutil
import sys

from ovn_network_agent.tests.packaging import host
from ovn_network_agent.tests.packaging import kolla
from ovn_network_agent.tests.packaging import package

NAME = 'localhost/kolla/ovn-network-agent'
# Files of kolla's base image, and their places.
_OF_KOLLA = {'set_configs.py': '/usr/local/bin/kolla_set_configs',
             'start.sh': '/usr/local/bin/kolla_start',
             'copy_cacerts.sh': '/usr/local/bin/kolla_copy_cacerts',
             'install_projects.sh': '/usr/local/bin/kolla_install_projects',
             'sudoers': '/etc/sudoers'}
_PINS = package.TOP / 'tools/constraints/2026.1.txt'
_REQUIREMENTS = '/requirements/upper-constraints.txt'
_PATH = ('/var/lib/kolla/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:'
         '/usr/bin:/sbin:/bin')
# As kolla's base images do it, for the two users of our image.
_BASE = '''
for user in kolla:42400 ovn-network-agent:42596; do
    groupadd --gid "${user#*:}" "${user%:*}"
    useradd -l -M --shell /usr/sbin/nologin --uid "${user#*:}" \\
        --gid "${user#*:}" "${user%:*}"
done
touch /usr/local/bin/kolla_extend_start
chmod 755 /usr/local/bin/kolla_*
chmod 440 /etc/sudoers
mkdir -p /var/log/kolla /var/lib/kolla
chown :kolla /var/log/kolla
chmod 2775 /var/log/kolla
python3 -m venv --system-site-packages /var/lib/kolla/venv
'''
_PIP = '[global]\nno-index = true\nfind-links = /wheels\n'
_INFO = 'Metadata-Version: 2.1\nName: ovn-network-agent\nVersion: 0.0.1\n'


class Images:
    """A storage of images, with the tags 1 and 2 of :data:`NAME`.

    :param directory: for everything; the storage is in ``images``
    :param environment: of :func:`kolla.environment`
    :param root: path of a root of a gateway
    :raises AssertionError: when a step fails
    """

    def __init__(self, directory, environment, root):
        self._directory = pathlib.Path(directory)
        self.path = self._directory / 'images'
        context = kolla.rendered(environment, self._directory)
        self._base(kolla.sources(environment) / 'docker/base', root, re.match(
            r'FROM (\S+)', (context / 'Dockerfile').read_text())[1])
        self._build(context)
        # Another image, as a new version is one.
        container = self._buildah('from', '--pull-never', f'{NAME}:1')
        self._buildah('config', '--label', 'newer=yes', container)
        self._buildah('commit', '-q', '--rm', container, f'{NAME}:2')

    def _buildah(self, *argv):
        return host.run(
            'buildah', '--root', str(self.path), '--runroot',
            str(self._directory / 'run'), '--storage-driver', 'overlay',
            *argv, env={'PATH': '/usr/sbin:/usr/bin:/sbin:/bin',
                        'HOME': '/root', 'BUILDAH_ISOLATION': 'chroot'}
        ).strip()

    def _base(self, files, root, name):
        container = self._buildah('from', 'scratch')
        self._buildah('add', '-q', container, str(root), '/')
        for file, place in _OF_KOLLA.items():
            self._buildah('copy', '-q', container, str(files / file), place)
        self._buildah('copy', '-q', container, str(_PINS), _REQUIREMENTS)
        self._buildah('run', container, '--', 'sh', '-ec', _BASE)
        self._buildah('config', '--entrypoint',
                      '["dumb-init", "--single-child", "--"]', '--cmd',
                      'kolla_start', '--env', f'PATH={_PATH}', container)
        self._buildah('commit', '-q', '--rm', container, name)

    def _build(self, context):
        wheels = self._directory / 'wheels'
        host.run('/usr/bin/python3', '-m', 'venv', '--without-pip',
                 str(self._directory / 'python'))
        host.run(sys.executable, '-m', 'pip',
                 '--python', str(self._directory / 'python/bin/python'),
                 'wheel', '--quiet', '--wheel-dir', str(wheels), '-c',
                 str(_PINS), '-r', 'requirements.txt')
        host.run(sys.executable, '-m', 'pip',
                 'download', '--quiet', '--no-deps', '--dest', str(wheels),
                 'pbr>=7.0.1', 'setuptools>=77')
        tree = self._directory / 'archive' / 'ovn-network-agent-0.0.1'
        tree.mkdir(parents=True)
        host.run('bash', '-ec', '. tools/lib.sh; copy_tree "$1"', 'sh',
                 str(tree))
        (tree / 'PKG-INFO').write_text(_INFO)
        shutil.make_archive(str(context / 'made'), 'tar', tree.parent)
        (context / 'made.tar').rename(context / 'ovn-network-agent-archive')
        pip = self._directory / 'pip.conf'
        pip.write_text(_PIP)
        self._buildah(
            'bud', '--pull-never', '--network', 'host', '--squash',
            '--volume', f'{wheels}:/wheels:ro', '--volume',
            f'{pip}:/etc/pip.conf:ro', '-t', f'{NAME}:1', str(context))
