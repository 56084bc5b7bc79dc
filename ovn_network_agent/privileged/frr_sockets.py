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

import os

from oslo_config import cfg

from ovn_network_agent import privileged
from ovn_network_agent.conf import frr as options

_SUFFIX = '.vty'


@privileged.frr.entrypoint
def read_sockets():
    """Read the directory of the sockets.

    A daemon makes its socket anew at its start, so another inode or time of
    change means a restart.  The reading starts no process.

    :returns: dict of the daemon's name to [inode, time of change in ns]
    :raises OSError: when the directory cannot be read
    """
    cfg.CONF.register_opts(options.OPTS, group=options.GROUP)
    found = {}
    with os.scandir(cfg.CONF.frr.frr_run_dir) as entries:
        for entry in entries:
            if not entry.name.endswith(_SUFFIX):
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                # The socket has gone, so the daemon does not run.
                continue
            found[entry.name.removesuffix(_SUFFIX)] = [
                status.st_ino, status.st_ctime_ns]
    return found
