# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The machine, the programs and the commit of a run."""

import datetime
import os
import platform
import re
import subprocess

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), *['..'] * 2))
_PROGRAMS = {'FRR': ('/usr/lib/frr/zebra', '--version'),
             'Open vSwitch': ('ovs-vswitchd', '--version'),
             'iproute2': ('ip', '-V')}
_NUMBERS = re.compile(r'\d+\.\d+')
_VERSION = re.compile(r'\d+\.\d[\w.~+-]*')


def now():
    """What is known before a run, a dict for JSON."""
    return {
        'at': datetime.datetime.now(datetime.UTC).isoformat(
            timespec='seconds'),
        'commit': commit('HEAD'),
        'changed': bool(_git('status', '--porcelain', '-uno')),
        'machine': {
            'kernel': kernel(platform.release()),
            'processors': os.cpu_count(),
            'processor': _processor(), 'memory': os.sysconf(
                'SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE'),
            'load': os.getloadavg()[0]},
        'versions': {'Python': platform.python_version(), **{
            name: version(argv) for name, argv in _PROGRAMS.items()}}}


def kernel(release):
    """The version in a release of the kernel, without patches and build."""
    found = _NUMBERS.match(release)
    return found.group() if found else ''


def commit(revision):
    """The full name of a commit of this tree, '' without git."""
    return _git('rev-parse', '--verify', '--quiet', revision + '^{commit}')


def version(argv):
    """The first version that a program prints, '' when it has none."""
    try:
        said = subprocess.run(argv, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
    except FileNotFoundError:
        return ''
    found = _VERSION.search(said.stdout or said.stderr)
    return found.group() if found else ''


def _processor():
    with open('/proc/cpuinfo') as opened:
        for line in opened:
            if line.startswith('model name'):
                return line.partition(':')[2].strip()
    return platform.machine()


def _git(*args):
    ended = subprocess.run(['git', '-C', ROOT, *args], capture_output=True,
                           text=True)
    return ended.stdout.strip()
