# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Agents of this node: their processes, and answers of the running one."""

import contextlib
import json
import os
import typing

from ovn_network_agent.control.socket import client
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.runtime.process import single_instance

#: JSON of the agent; the reference of each command has its keys
Answer: typing.TypeAlias = dict[str, typing.Any]

# Seconds; an agent answers in milliseconds.
_ANSWER = 1.0
_PROGRAM = 'ovn-network-agent'
_MODULE = 'ovn_network_agent.cmd.agent'
# These look, and change nothing.
_LOOKS = ('--dry-run', '--check-config', '--version', '--help')


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


class Agent(typing.NamedTuple):
    """A process that is an agent, not a daemon or program of one."""

    pid: int
    command: str


def agents() -> tuple[Agent, ...]:
    """The agents of this network namespace."""
    here = namespace('thread-self')
    found = {}
    for name in os.listdir('/proc'):
        if name.isdigit():
            # A process may end meanwhile, or belong to another user.
            with contextlib.suppress(OSError):
                argv = single_instance.command_line(int(name))
                if is_agent(argv) and namespace(name) == here:
                    found[int(name)] = (' '.join(argv), _parent(name))
    return tuple(Agent(pid, command)
                 for pid, (command, parent) in sorted(found.items())
                 if parent not in found)


def is_agent(argv: list[str]) -> bool:
    """Whether a command line is that of an agent, this or the original."""
    program = any(os.path.basename(word) == _PROGRAM for word in argv[:2])
    module = ['-m', _MODULE] in [argv[at:at + 2] for at in range(len(argv))]
    return (program or module) and not set(argv).intersection(_LOOKS)


def namespace(pid: str) -> str:
    """The network namespace of a process id, or of 'thread-self'.

    :raises OSError: when the process is gone, or another user's
    """
    return os.readlink(f'/proc/{pid}/ns/net')


def _parent(pid: str) -> int:
    with open(f'/proc/{pid}/stat', encoding='utf-8',
              errors='replace') as opened:
        # The name in parentheses may contain anything.
        return int(opened.read().rpartition(')')[2].split()[1])
