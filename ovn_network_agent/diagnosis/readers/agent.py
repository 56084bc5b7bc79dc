# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Answers of the running agent, over its control socket."""

import json
import typing

from ovn_network_agent.control.socket import client
from ovn_network_agent.diagnosis import readers

#: JSON of the agent; the reference of each command has its keys
Answer: typing.TypeAlias = dict[str, typing.Any]

# Seconds; an agent answers in milliseconds.
_ANSWER = 1.0


def ask(path: str, command: str, *arguments: str) -> Answer:
    """Ask the agent; Unread without a socket or answer, or if it refuses."""
    if not path:
        raise readers.Unread('[DEFAULT] control_socket is empty')
    try:
        answer: Answer = json.loads(client.call(
            path, command, ['--json', *arguments], _ANSWER))
        return answer
    except client.NotRunning:
        raise readers.Unread('no agent runs on this node') from None
    except RecursionError:
        raise readers.Unread('the answer is nested too deeply') from None
    except (client.NoAgent, client.Refused, ValueError) as error:
        raise readers.Unread(str(error)) from error
