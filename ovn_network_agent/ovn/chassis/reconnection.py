# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""How long chassis may take to follow OVN SB again after an outage."""

# Most seconds between an ovn-controller's attempts (Open vSwitch,
# lib/reconnect.c: up to 8 s), and one for the attempt.
RECONNECT = 9.0
# Most seconds to wait: maybe only this agent has lost the database.
BLIND = 20.0


def late_for(connected: bool, changed_at: float | None,
             now: float) -> float:
    """Seconds for which some chassis may not follow a new order, else 0.

    After an outage of SB, each ovn-controller reconnects on its own time:
    compute nodes may send a moved port's packets to the former chassis.

    :param changed_at: monotonic seconds of the last loss or return, or None
    """
    if changed_at is None:
        return 0.0
    return max(0.0, changed_at + (RECONNECT if connected else BLIND) - now)
