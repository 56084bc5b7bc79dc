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

"""Lines of the prefix list: their shape, and their numbers.  Pure."""

from ovn_network_agent import ownership

# The Go program (see the glossary) numbers the lines in these steps.
_STEP = 5


def hosts(network):
    """(ge, le) of a line that permits the host routes of a network."""
    return (128, 128) if ':' in network else (32, 32)


def shaped(entries):
    """The entries that permit host routes, of the agent or of others.

    :param entries: iterable of :class:`frr.output.Entry`
    :returns: dict of network to sequence number
    """
    return {entry.prefix: entry.sequence for entry in entries
            if entry.action == 'permit' and
            (entry.ge, entry.le) == hosts(entry.prefix)}


def is_ours(network, number):
    """Whether the agent gives a sequence number to a network's line."""
    return number in ownership.prefix_list_numbers(network)


def counted(lines):
    """Networks whose line the Go program may have written.

    The Go program begins with the number 5, and gives each new line the
    highest number of such lines plus 5.  It writes no IPv6 lines.

    :param lines: result of :func:`shaped`
    :returns: set of str
    """
    return {network for network, number in lines.items()
            if ':' not in network and not is_ours(network, number) and any(
                number > other and not (number - other) % _STEP
                for other in (0, *lines.values()))}
