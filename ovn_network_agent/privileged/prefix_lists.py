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


"""Privileged entry point: a prefix list, asked of each daemon by itself.

vtysh of FRR 8.4 asks zebra first, and does not ask bgpd when zebra has no such
list.  So a list that only bgpd has can only be seen in this way.
"""

import errno
import json

from ovn_network_agent import privileged
from ovn_network_agent.frr import output
from ovn_network_agent.privileged import vtysh

_DAEMONS = ('zebra', 'bgpd')


@privileged.frr.entrypoint
def read_by_daemon(name):
    """Read the prefix list of IPv4 from zebra and from bgpd.

    :param name: name of the list
    :returns: dict of 'zebra' and 'bgpd' to list of the fields of
        :class:`frr.output.Entry`
    :raises OSError: when a daemon cannot be asked
    """
    vtysh.check_prefix_list(name)
    command = f'show ip prefix-list {name} json'
    try:
        return {daemon: _entries(vtysh.ask(daemon, command), name, daemon)
                for daemon in _DAEMONS}
    except output.Unreadable as error:
        raise OSError(errno.EPROTO, str(error)) from error


def _entries(said, name, daemon):
    """The entries that one daemon has, a list of lists."""
    if not said.startswith('{'):
        # Without the list, a daemon says nothing but its status.
        return []
    text = ''.join(
        # A daemon of FRR 10 may leave its own name to vtysh.
        json.dumps({daemon: document} if name in document else document)
        for document in output.json_documents(said))
    found = output.prefix_lists(text, name)
    return [list(entry)
            for entry in found.get(daemon.upper().removesuffix('D'), ())]
