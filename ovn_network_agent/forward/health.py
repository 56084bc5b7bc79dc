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

"""What is to be known of backends: whether they are alive.

:mod:`ovn_network_agent.forward.health_checks` finds it out.
"""

import typing

from ovn_network_agent import port_forwards


class Target(typing.NamedTuple):
    """What is checked.

    :ivar address: IP address of a backend, canonical text
    :ivar port: TCP port that is connected to, never 0
    :ivar check: :class:`port_forwards.HealthCheck`
    """

    address: str
    port: int
    check: port_forwards.HealthCheck


class Health:
    """Nobody checks: whatever is asked about is alive.

    All methods return at once.
    """

    def start(self, trigger):
        """Start to check.

        :param trigger: :class:`trigger.Trigger`, to be fired whenever
            :meth:`alive` is another than before
        """

    def want(self, targets):
        """Check these from now on, and no others.

        Called on any thread, also before :meth:`start`, and each time when
        the rules change.

        :param targets: frozenset of :class:`Target`
        """

    def alive(self, target):
        """What is known of one; called on the loop thread at each pass.

        :param target: :class:`Target`
        :returns: False when it is dead; True also as long as nobody knows
        """
        return True

    def why(self, target):
        """Why one is dead, '' when it is not; as :meth:`alive`."""
        return ''

    def stop(self):
        """End; without waiting for threads, may come twice."""
