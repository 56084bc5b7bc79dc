# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Who is measured: this tree, another revision of it, the peer, the floor."""

import dataclasses
import datetime
import os
import platform
import re
import subprocess
import sys
import sysconfig

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


OURS, FLOOR, PEER = 'ours', 'floor', 'peer'
BUILD = os.path.join(ROOT, 'build', 'bench')
_COMPILE = ('import compileall, ovn_network_agent; '
            'compileall.compile_dir(*ovn_network_agent.__path__, quiet=1)')


@dataclasses.dataclass(frozen=True)
class Subject:
    """Somebody who is measured."""

    name: str
    kind: str  # 'agent', 'floor' or 'peer'
    program: str | None
    version: str


def ours():
    """The agent of this tree."""
    compile_modules(program())
    return Subject(OURS, 'agent', None, commit('HEAD'))


def program():
    """Path of the agent of this environment."""
    return os.path.join(os.path.dirname(sys.executable), 'ovn-network-agent')


def floor():
    """The planes without an agent."""
    return Subject(FLOOR, 'floor', None, '')


def revision(name):
    """The agent of another revision, in a work tree of its own.

    Its environment has the packages of this one; only the agent is another.

    :raises SystemExit: when there is no such commit
    """
    wanted = commit(name)
    if not wanted:
        raise SystemExit(f'{name} is no revision of this tree; "git log" '
                         'names some')
    tree = os.path.join(BUILD, wanted[:12])
    if not os.path.exists(tree):
        _run('git', '-C', ROOT, 'worktree', 'add', '--detach', tree,
             wanted)
    venv = os.path.join(tree, '.venv')
    path = os.path.join(venv, 'bin', 'ovn-network-agent')
    if not os.path.exists(path):
        _run(sys.executable, '-m', 'venv', '--without-pip', venv)
        packages = sysconfig.get_path('purelib', vars={
            'base': venv, 'platbase': venv})
        with open(os.path.join(packages, 'others.pth'), 'w') as opened:
            opened.write(sysconfig.get_path('purelib') + '\n')
        _run(os.path.join(venv, 'bin', 'python'), '-m', 'pip', 'install',
             '--quiet', '--no-deps', '--no-build-isolation', '--editable',
             tree)
    compile_modules(path)
    return Subject(name, 'agent', path, wanted)


def compile_modules(program: str):
    """Compile the modules of an agent, as an installation does.

    A start would otherwise compile all modules, each time where the
    environment has ``PYTHONDONTWRITEBYTECODE``.  This takes 0.15 s.

    :raises SystemExit: when this fails
    """
    # Isolated: the modules of the present directory are of another agent.
    _run(os.path.join(os.path.dirname(program), 'python'), '-I', '-c',
         _COMPILE)


def make_venv(path, package):
    """A virtual environment with a released package.

    :raises SystemExit: when it cannot be installed
    """
    _run(sys.executable, '-m', 'venv', path)
    _run(os.path.join(path, 'bin', 'python'), '-m', 'pip', 'install',
         '--quiet', package)


def _run(*argv):
    """Run a program; raises SystemExit when it fails, with what it said."""
    ended = subprocess.run(argv, stdin=subprocess.DEVNULL,
                           capture_output=True, text=True)
    if ended.returncode:
        raise SystemExit(f'{" ".join(argv)}: {ended.stderr.strip()}')
