# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Tries whether the host's own kernel has the features that the lab needs."""

import functools
import os
import subprocess
import sys

from lab import syscalls

# The trials, in a network namespace that goes with the process.
TRIALS = (
    ['ip', 'link', 'add', 'v', 'type', 'vrf', 'table', '10'],
    ['ip', 'link', 'add', 'd', 'type', 'dummy'],
    ['ip', 'link', 'add', 'e', 'type', 'veth', 'peer', 'name', 'f'],
    ['ip', 'link', 'add', 'link', 'e', 'name', 'e.5', 'type', 'vlan', 'id',
     '5'],
    ['ip', 'link', 'add', 'g', 'type', 'geneve', 'external'],
    ['nft', 'add', 'table', 'inet', 't'],
    ['nft', 'add', 'chain', 'inet', 't', 'c',
     '{ type nat hook prerouting priority dstnat; }'],
    # The datapath of OVS is a generic netlink family.
    [sys.executable, '-c',
     'from pyroute2 import GenericNetlinkSocket as S; from pyroute2.netlink '
     'import genlmsg; s = S(); s.bind("ovs_datapath", genlmsg)'],
)


@functools.cache
def suitable():
    """True when the lab can run on the host's kernel as it is."""
    if os.geteuid() != 0:
        return False
    pid = os.fork()
    if pid == 0:
        os._exit(0 if _try() else 1)
    _pid, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status) == 0


def _try():
    try:
        syscalls.unshare(syscalls.CLONE_NEWNET)
        return all(subprocess.run(trial, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL,
                                  check=False).returncode == 0
                   for trial in TRIALS)
    except OSError:
        return False
