# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The root of a Debian or Ubuntu, made by debootstrap and kept."""

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
# The suite of Ubuntu 24.04.
NOBLE = 'noble'
# debootstrap of Debian 12 is older, and all suites of Ubuntu have the same
# steps.
_SCRIPT = 'gutsy'
# Debian 12 has no key of Ubuntu.
_UNCHECKED = () if os.path.exists(
    '/usr/share/keyrings/ubuntu-archive-keyring.gpg') else ('--no-check-gpg',)


def copy(path, suite=None):
    """Make a root of its own, with :data:`PACKAGES`.

    :param path: of a directory that is not there yet
    :param suite: :data:`NOBLE`, or None for this machine's Debian
    :raises AssertionError: when apt knows no mirror of Debian
    :raises subprocess.CalledProcessError: when debootstrap fails
    """
    base = made('for-packages', PACKAGES, suite=suite)
    subprocess.run(['cp', '-a', '--reflink=auto', str(base), str(path)],
                   check=True)


def made(name, packages, finish=None, key='', suite=None):
    """A root that no test changes, made on first use.

    :param name: part of its name
    :param packages: names of packages beside those of a minimal system
    :param finish: function(pathlib.Path) for the last steps
    :param key: text that changes with these steps
    :param suite: as for :func:`copy`
    :returns: pathlib.Path
    :raises AssertionError: when there is no mirror, or debootstrap fails
    """
    options, where = (), (os.environ.get('UBUNTU_MIRROR', ''), _SCRIPT)
    if suite:
        options = ('--components=main,universe', *_UNCHECKED)
    else:
        uri, suite = _mirror()
        where = (uri,)
    return kept(f'{suite}-{name}', ' '.join(packages) + key, lambda path: (
        _make(path, packages, finish, (*options, suite, str(path), *where))))


def kept(name, key, make):
    """Path of a directory that is made on first use, and stays.

    :param name: begins the name of the directory
    :param key: text; with another text there is another directory
    :param make: function(pathlib.Path) that makes the directory
    :returns: pathlib.Path
    """
    digest = hashlib.sha256(key.encode()).hexdigest()[:8]
    path = cache() / f'{name}-{digest}'
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(f'{path}.lock', 'w') as lock:
        # Another run of the tests may be making the same.
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = path / '.complete'
        if not done.exists():
            shutil.rmtree(path, ignore_errors=True)
            make(path)
            done.touch()
    return path


def cache():
    """Directory of the kept roots, that of tools/versions."""
    home = os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
    return pathlib.Path(os.environ.get('VERSIONS_CACHE') or
                        os.path.join(home, 'ovn-network-agent-versions'))


def _make(path, packages, finish, argv):
    done = subprocess.run(
        ['debootstrap', '--variant=minbase',
         '--include=' + ','.join(packages), *argv],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, env={**os.environ, **ENV})
    assert done.returncode == 0, done.stdout
    if finish:
        finish(path)
    for archive in (path / 'var/cache/apt/archives').glob('*.deb'):
        archive.unlink()


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
