# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The root of a gateway of the lab: systemd, FRR, OVS, OVN, Podman."""

import pathlib
import subprocess
import sys

from ovn_network_agent.tests.packaging import root

PACKAGES = ('python3', 'python3-dbus', 'python3-venv', 'dbus', 'systemd',
            'systemd-sysv', 'udev', 'procps', 'sudo', 'frr', 'nftables',
            'openvswitch-switch', 'ovn-host', 'iproute2', 'dumb-init')
# debootstrap does not choose one of several packages that a package needs.
LATER = ('podman', 'crun', 'openssh-server')
# What kolla-ansible needs on a host with Podman, in the place of pip.
PYTHON = ('podman>=4.9,<5',)
PLACE = 'usr/local/lib/python3.11/dist-packages'
# The lab starts FRR, OVS and OVN by itself, in the foreground.  The others
# take time at the boot.
MASKED = (
    'frr.service', 'openvswitch-switch.service', 'ovs-vswitchd.service',
    'ovsdb-server.service', 'ovn-controller.service', 'ovn-host.service',
    'systemd-logind.service', 'e2scrub_reap.service',
    'podman-auto-update.service', 'podman-restart.service',
    'podman-auto-update.timer', 'apt-daily.timer', 'apt-daily-upgrade.timer',
    'dpkg-db-backup.timer', 'e2scrub_all.timer', 'fstrim.timer')


def gateway(suite=None):
    """Path of the root, made on first use; no test changes it.

    Podman, for the role for kolla-ansible, is in that of Debian alone.

    :param suite: as for :func:`root.copy`
    :raises AssertionError: when there is no mirror, or a step fails
    """
    if suite:
        return root.made('lab-gateway', PACKAGES, _finish, ' '.join(MASKED),
                         suite)
    return root.made('lab-gateway', PACKAGES, _finish_with_podman,
                     ' '.join((*LATER, *PYTHON, *MASKED)))


def _finish_with_podman(path):
    # As a host of the lab, a gateway has no services of its own yet.
    policy = path / 'usr/sbin/policy-rc.d'
    policy.write_text('#!/bin/sh\nexit 101\n')
    policy.chmod(0o755)
    run('chroot', str(path), 'env', 'DEBIAN_FRONTEND=noninteractive',
        *(f'{name}={value}' for name, value in root.ENV.items()),
        'apt-get', 'install', '-y', '--no-install-recommends', *LATER)
    policy.unlink()
    run(sys.executable, '-m', 'pip', 'install', '--quiet', '--target',
        str(path / PLACE), *PYTHON)
    _finish(path)
    run('chroot', str(path), 'systemctl', 'disable', 'ssh.service')


def _finish(path):
    # The lab mounts something there.
    (path / 'var/lib/containers').mkdir(exist_ok=True)
    for name in MASKED:
        link = path / 'etc/systemd/system' / name
        link.unlink(missing_ok=True)
        link.symlink_to('/dev/null')
    for name in ('conf.db', '.conf.db.~lock~'):
        (path / 'etc/openvswitch' / name).unlink(missing_ok=True)


def run(*argv, **kwargs):
    """Run a program to its end.

    :returns: its standard output, a text
    :raises AssertionError: when it fails; with its output
    """
    done = subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        cwd=pathlib.Path(__file__).resolve().parents[3], **kwargs)
    assert done.returncode == 0, (argv, done.stdout + done.stderr)
    return done.stdout
