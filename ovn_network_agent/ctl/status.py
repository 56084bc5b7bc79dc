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

"""The command status."""

import sys

from ovn_network_agent.control import client
from ovn_network_agent.ctl import exits
from ovn_network_agent.ctl import socket_path

# Seconds for an answer of the agent.
ANSWER = 60.0


def add(commands):
    """Add the command to the command line.

    :param commands: what argparse's add_subparsers returned
    """
    status = commands.add_parser(
        'status', allow_abbrev=False, help='what the agent does, and where '
        'the gateways are; "announced" does not say that packets arrive, '
        '"explain" looks at their way')
    status.add_argument('--json', action='store_true',
                        help='for programs; the keys are documented')
    status.set_defaults(function=run)


def run(given):
    """Print the state of the agent.

    :param given: the parsed command line, argparse.Namespace
    :returns: exit status
    """
    argv = ['--json'] if given.json else []
    sys.stdout.write(client.call(socket_path.find(given), 'status', argv,
                                 ANSWER))
    if given.json:
        print()
    return exits.OK
