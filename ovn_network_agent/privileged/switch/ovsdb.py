# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Privileged entry points: a connection to the local database of Open
vSwitch, and ovn-controller's state, without the rights of their users for the
agent.
"""

import errno
import socket

from ovn_network_agent import privileged
from ovn_network_agent.conf import registered
from ovn_network_agent.conf.options import ovs as options
from ovn_network_agent.privileged import overlap_servers
from ovn_network_agent.privileged.daemon import passed_sockets

_UNIX = 'unix:'
# seconds for a server that does not accept
_TIMEOUT = 3.0


@privileged.ovs.entrypoint
def connect(name: str) -> int:
    """Connect to the configured socket, and pass it to the agent."""
    passed_sockets.check(name)
    remote = registered.group(options).ovsdb_connection
    if not remote.startswith(_UNIX):
        raise OSError(errno.EINVAL, f'{remote} is no Unix socket')
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as opened:
        opened.settimeout(_TIMEOUT)
        opened.connect(remote.removeprefix(_UNIX))
        opened.setblocking(False)
        return passed_sockets.give(name, opened)


@privileged.ovs.entrypoint
def read_state() -> list[str]:
    """['25.03', 'running' or 'paused', 'connected' or 'not connected'
    (Southbound)]; empty without ovn-controller.
    """
    controller = overlap_servers.Controller(
        registered.group(options).ovn_rundir)
    try:
        return [overlap_servers.shown(controller.version()),
                controller.call('debug/status').strip(),
                controller.call('connection-status').strip()]
    except overlap_servers.Absent:
        return []
    except overlap_servers.Failed as error:
        raise OSError(errno.EIO, str(error)) from error
