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

"""The destinations of port forwards in the agent's table of nftables."""

from ovn_network_agent import ownership
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.nft import listing

_FAMILIES = {4: 'ip', 6: 'ip6'}
# Seconds.
_TIMEOUT = 5


def read_targets(version):
    """The destinations in the set of the agent's table.

    The agent writes this set in one transaction with the rules.

    :param version: 4 or 6
    :returns: frozenset, see :attr:`listing.Listed.targets`; None without
        the table
    :raises readers.Unread: when nft fails
    """
    # The privileged side takes long to import; only a VIP needs it.
    from ovn_network_agent.privileged import command
    argv = ['nft', '-j', '-n', 'list', 'set', _FAMILIES[version],
            ownership.NFT_TABLE, ownership.NFT_TARGETS]
    try:
        done = command.run(argv, _TIMEOUT)
    except OSError as error:
        raise readers.Unread(f'nft: {readers.reason(error)}') from error
    if done.status:
        if 'No such file' in done.stderr:
            return None
        raise readers.Unread(f'nft: {done.messages}')
    try:
        return listing.parse(done.stdout).targets
    except listing.Unreadable as error:
        raise readers.Unread(readers.reason(error)) from error
