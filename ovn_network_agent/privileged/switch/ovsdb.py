# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Privileged entry point: a connection to the local Open vSwitch database,
without the rights of ovsdb-server's user for the agent.
"""

import errno
import socket

from oslo_config import cfg

from ovn_network_agent import privileged
from ovn_network_agent.conf.options import ovs as options
from ovn_network_agent.privileged.daemon import sending_sockets

_UNIX = 'unix:'
# seconds for a server that does not accept
_TIMEOUT = 3.0


@privileged.ovs.entrypoint
def connect(name: str) -> int:
    """Connect to the configured socket, and pass it to the agent."""
    sending_sockets.check(name)
    cfg.CONF.register_opts(options.OPTS, group=options.GROUP)
    remote = cfg.CONF.ovs.ovsdb_connection
    if not remote.startswith(_UNIX):
        raise OSError(errno.EINVAL, f'{remote} is no Unix socket')
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as opened:
        opened.settimeout(_TIMEOUT)
        opened.connect(remote.removeprefix(_UNIX))
        opened.setblocking(False)
        return sending_sockets.give(name, opened)
