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

"""The states of a named lock, also for programs that make no connection."""

import enum

#: In answers to an operator: the state of a lock that nothing needed so far.
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
