# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The command reload: has the loop read the configuration, and answers."""

import json

from ovn_network_agent.control import commands
from ovn_network_agent.control import text
from ovn_network_agent.runtime import reloads

USAGE = '[--wait] [--timeout SECONDS] [--json]'
# Seconds to wait for the loop, which may be in a pass with FRR in it.
PATIENCE = 30.0


class Reloading:
    """Carries out the command.

    :param answers: :class:`reloads.Reloads`
    """

    def __init__(self, answers):
        self._answers = answers

    def run(self, arguments, argv):
        """Reload.

        :param arguments: see :class:`commands.Table`
        :param argv: list of str
        :returns: text, of JSON with --json
        :raises commands.Refused: when the loop does not answer
        """
        arguments.add_argument('--wait', action='store_true')
        arguments.add_argument('--timeout', type=float, default=PATIENCE)
        arguments.add_argument('--json', action='store_true')
        given = arguments.parse_args(argv)
        try:
            answer, in_force = self._answers.wait(
                self._answers.ask(), given.timeout, given.wait)
        except reloads.Closed as e:
            raise commands.Refused(f'{e}; the next start reads the files '
                                   'anyhow') from None
        if answer is None:
            raise commands.Refused(
                f'the loop has not read the files within {given.timeout:g} '
                's, as a pass takes long; it will, and "status" then says '
                'what came of it')
        found = {**answer.json(), 'in_force': in_force}
        return json.dumps(found) if given.json else (
            text.of_reload(found))
