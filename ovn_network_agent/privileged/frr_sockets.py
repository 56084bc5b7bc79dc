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

"""The vty sockets of FRR's daemons, which show restarts."""

from oslo_config import cfg

from ovn_network_agent import privileged
from ovn_network_agent import socket_marks
from ovn_network_agent.conf import frr as options

#: End of the names of the sockets.
SUFFIX = '.vty'


@privileged.frr.entrypoint
def read_sockets():
    """Read the directory of the sockets, see :mod:`socket_marks`.

    :returns: dict of the daemon's name to [inode, time of change in ns]
    :raises OSError: when the directory cannot be read
    """
    cfg.CONF.register_opts(options.OPTS, group=options.GROUP)
    return socket_marks.of_directory(cfg.CONF.frr.frr_run_dir, SUFFIX)
