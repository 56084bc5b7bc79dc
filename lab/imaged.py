# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Start the agent of an image on a node, as its container would.

The image is a directory of the host, which LAB_AGENT_ROOT names.  The agent
gets its files, its user and its capabilities; the directories of sockets are
those of the node, as the role for kolla-ansible mounts them.  What a container
has beside: a read-only /proc/sys, and its own PIDs.
"""

import os
import pwd
import sys

from lab import debian
from lab import syscalls

VARIABLE = 'LAB_AGENT_ROOT'
USER = 'ovn-network-agent'
RUNDIR = '/run/ovn-network-agent'
# Of the node.
SHARED = ('/proc', '/sys', '/dev', '/run/openvswitch', '/run/ovn', '/run/frr',
          RUNDIR, '/etc/ovn-network-agent', '/var/log')
START = '/usr/local/bin/kolla_ovn_network_agent'
_STAGING = '/mnt/image'
_EMPTY = '/usr/bin/env -i'


def program():
    """argv of the agent on a node, a list; None without an image."""
    if VARIABLE not in os.environ:
        return None
    return [sys.executable, '-m', 'lab.imaged']


def main(arguments):
    """Become the agent.

    The start program of the image empties the environment and has no
    arguments.  The lab gives the socket of sd_notify and arguments of its own.
    """
    top = _mounts(os.environ[VARIABLE])
    os.chroot(top)
    os.chdir('/')
    user = pwd.getpwnam(USER)
    os.chown(RUNDIR, user.pw_uid, user.pw_gid)
    with open(START, encoding='utf-8') as opened:
        script, _, own = opened.read().rpartition('--config-file')
    assert own.split() == ['/etc/ovn-network-agent/ovn-network-agent.conf']
    kept = [f'{name}={os.environ[name]}' for name in ('NOTIFY_SOCKET',)
            if name in os.environ]
    script = script.replace(_EMPTY, ' '.join((_EMPTY, *kept))) + '"$@"\n'
    os.execv('/bin/bash', ['bash', '-c', script, START, *arguments])


def _mounts(root):
    """Mount the image and what it shares with the node; gives its root."""
    syscalls.unshare(syscalls.CLONE_NEWNS)
    syscalls.make_private()
    notify = os.environ.get('NOTIFY_SOCKET', '')
    top = debian.overlay(root, _STAGING)
    os.makedirs(RUNDIR, 0o700, exist_ok=True)
    for path in SHARED:
        syscalls.mount(path, top + path,
                       flags=syscalls.MS_BIND | syscalls.MS_REC)
    if notify:
        os.chmod(notify, 0o666)
        open(top + notify, 'w').close()
        syscalls.mount(notify, top + notify, flags=syscalls.MS_BIND)
    return top


if __name__ == '__main__':
    main(sys.argv[1:])
