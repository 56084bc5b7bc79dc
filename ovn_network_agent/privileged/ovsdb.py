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

"""Privileged entry point: a connection to the local Open vSwitch database.

Only the user of ovsdb-server can connect to its socket.  The agent is another
user and gets only a connection, not the rights of this user.
"""

import errno
import socket

from oslo_config import cfg

from ovn_network_agent import privileged
from ovn_network_agent.conf import ovs as options
from ovn_network_agent.privileged import giving

_UNIX = 'unix:'
# Seconds for a server that does not accept.
_PATIENCE = 3.0


@privileged.ovs.entrypoint
def connect(name):
    """Connect to the configured socket, and pass it to the agent.

    :param name: name of the agent's abstract Unix socket, 32 hex digits
    :returns: process id of this daemon
    :raises OSError: when the server cannot be reached, or the configuration
        has no Unix socket
    """
    giving.check(name)
    cfg.CONF.register_opts(options.OPTS, group=options.GROUP)
    remote = cfg.CONF.ovs.ovsdb_connection
    if not remote.startswith(_UNIX):
        raise OSError(errno.EINVAL, f'{remote} is no Unix socket')
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as opened:
        opened.settimeout(_PATIENCE)
        opened.connect(remote.removeprefix(_UNIX))
        opened.setblocking(False)
        return giving.give(name, opened)
