# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Answers of the running agent, over its control socket."""

import json

from ovn_network_agent.control import client
from ovn_network_agent.diagnosis import readers

# Seconds; an agent answers in milliseconds.
_ANSWER = 1.0


def ask(path, command, *arguments):
    """Ask the agent.

    :param path: control socket, '' when the agent has none
    :param command: name of a command that answers in JSON
    :param arguments: its arguments
    :returns: the JSON value
    :raises readers.Unread: when no agent answers in time, or it refuses
    """
    if not path:
        raise readers.Unread('[DEFAULT] control_socket is empty')
    try:
        return json.loads(client.call(path, command, ['--json', *arguments],
                                      _ANSWER))
    except client.NotRunning:
        raise readers.Unread('no agent runs on this node') from None
    except RecursionError:
        raise readers.Unread('the answer is nested too deeply') from None
    except (client.NoAgent, client.Refused, ValueError) as error:
        raise readers.Unread(str(error)) from error
