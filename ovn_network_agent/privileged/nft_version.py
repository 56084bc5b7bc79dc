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


"""Privileged entry point: the version of nft.

Only the privileged side starts programs.
"""

import errno

from ovn_network_agent import privileged
from ovn_network_agent.privileged import command

# Seconds; nft only prints.
_TIMEOUT = 10


@privileged.netfilter.entrypoint
def read_version():
    """The version of nft, such as '1.0.6'.

    :raises OSError: when nft is not there, or says something else
    """
    said = command.run(['nft', '--version'], _TIMEOUT)
    words = said.stdout.split()
    if said.status or len(words) < 2 or not words[1].startswith('v'):
        raise OSError(errno.EPROTO, f'nft: {said.messages}')
    return words[1].removeprefix('v')
