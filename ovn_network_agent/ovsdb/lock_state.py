# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The states of a named lock, also for programs that make no connection."""

import enum

#: Of a lock that nothing needed so far, in answers to an operator.
NOT_ASKED = 'not asked'


class State(enum.Enum):
    """Who has the lock."""

    HELD = 'held'
    #: another agent has it
    WAITING = 'waiting'
    #: the server has not answered, or this agent cannot write
    NOT_CONNECTED = 'not connected'


#: For an operator, by the state in an answer: who writes the rows.
WRITERS = {
    State.HELD.value: 'this agent writes the rows (it has the lock)',
    State.WAITING.value: 'another agent writes the rows (it has the lock)',
    State.NOT_CONNECTED.value: 'the lock cannot be asked for, so this agent '
                               'writes no rows',
    NOT_ASKED: 'this agent has had nothing to write, and has not asked for '
               'the lock'}
