# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The root file system of a Debian, made by debootstrap and kept."""

import fcntl
import hashlib
import os
import pathlib
import platform
import shutil
import subprocess
import tempfile

# What the package needs and recommends, but OVN, and visudo, which is in sudo.
PACKAGES = ('python3', 'systemd', 'sudo', 'frr', 'openvswitch-switch')
# Nothing in such a root has to survive the loss of power.
ENV = {'DPKG_FORCE': 'unsafe-io'}


def copy(path):
    """Make a root of its own.

    :param path: of a directory that is not there yet
    :raises AssertionError: when apt knows no mirror of Debian
    :raises subprocess.CalledProcessError: when debootstrap fails
    """
    subprocess.run(['cp', '-a', '--reflink=auto', str(_base()), str(path)],
                   check=True)


def _base():
    """Path of a root that no test changes; made on first use."""
    uri, suite = _mirror()
    key = hashlib.sha256(' '.join(PACKAGES).encode()).hexdigest()[:8]
    kept = _cache() / f'{suite}-for-packages-{key}'
    kept.parent.mkdir(parents=True, exist_ok=True)
    with open(f'{kept}.lock', 'w') as lock:
        # Another run of the tests may be making the same root.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            _make(kept, suite, uri)
    return kept


def _cache():
    """Directory of the kept roots, that of tools/versions."""
    home = os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
    return pathlib.Path(os.environ.get('VERSIONS_CACHE') or
                        os.path.join(home, 'ovn-network-agent-versions'))


def _make(kept, suite, uri):
    partial = kept.with_name(kept.name + '.partial')
    shutil.rmtree(partial, ignore_errors=True)
    made = subprocess.run(
        ['debootstrap', '--variant=minbase',
         '--include=' + ','.join(PACKAGES), suite, str(partial), uri],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, env={**os.environ, **ENV})
    assert made.returncode == 0, made.stdout
    for archive in (partial / 'var/cache/apt/archives').glob('*.deb'):
        archive.unlink()
    partial.rename(kept)


def _mirror():
    """The mirror that apt of this machine uses for Debian itself.

    :returns: URI of the mirror, name of the suite
    :raises AssertionError: when there is none
    """
    named = os.environ.get('DEBIAN_MIRROR')
    found = _targets() or _targets_of_new_lists()
    assert found, ('apt of this machine has no source of Debian: add one, '
                   'and run "apt-get update"')
    # This release, where apt has more than one.
    release = platform.freedesktop_os_release().get('VERSION_CODENAME')
    uri, suite = next((target for target in found if target[1] == release),
                      found[0])
    return named or uri, suite


def _targets(*options):
    """Each URI with its suite, without those of updates."""
    listed = subprocess.run(
        ['apt-get', *options, 'indextargets', '--format',
         '$(REPO_URI) $(CODENAME)', 'Created-By: Packages', 'Origin: Debian',
         'Label: Debian', 'Component: main'], capture_output=True, text=True,
        check=True).stdout
    targets = [line.split() for line in listed.splitlines()]
    return [target for target in targets if '-' not in target[1]]


def _targets_of_new_lists():
    """Likewise on a machine whose lists were removed, as in images."""
    with tempfile.TemporaryDirectory() as lists:
        # apt reads the lists as a user of its own.
        os.chmod(lists, 0o755)
        option = f'Dir::State::lists={lists}'
        subprocess.run(['apt-get', '-o', option, 'update'], check=True,
                       stdin=subprocess.DEVNULL, capture_output=True)
        return _targets('-o', option)
