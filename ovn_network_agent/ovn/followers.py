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

"""Whether the chassis would follow a new order of gateway candidates soon.

The chassis follow the Southbound database.  After an outage of this database,
each ovn-controller connects again at a time of its own.  A port that moved
meanwhile would be served by its new chassis, while compute nodes still send to
the former one.  Pure.
"""

# Most seconds between two attempts of an ovn-controller to connect (Open
# vSwitch, lib/reconnect.c: the back-off ends at 8 s), and one for the attempt.
RECONNECT = 9.0
# Most seconds to wait for a lost connection.  Maybe only this agent has lost
# the database, and then the chassis would follow.
BLIND = 20.0


def late_for(connected: bool, changed_at: float | None,
             now: float) -> float:
    """Seconds for which some chassis may not follow a new order, else 0.

    :param changed_at: monotonic seconds at which the connection was lost or
        came back, None without any loss
    """
    if changed_at is None:
        return 0.0
    return max(0.0, changed_at + (RECONNECT if connected else BLIND) - now)
