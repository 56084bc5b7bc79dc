# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""How long chassis may take to follow OVN SB again after an outage."""

# Most seconds between two attempts of an ovn-controller to connect (Open
# vSwitch, lib/reconnect.c: the back-off ends at 8 s), and one for the attempt.
RECONNECT = 9.0
# Most seconds to wait for a lost connection.  Maybe only this agent has lost
# the database, and then the chassis would follow.
BLIND = 20.0


def late_for(connected: bool, changed_at: float | None,
             now: float) -> float:
    """Seconds for which some chassis may not follow a new order, else 0.

    The chassis follow the Southbound database.  After an outage of this
    database, each ovn-controller connects again at a time of its own.  A port
    that moved meanwhile would be served by its new chassis, while compute
    nodes still send to the former one.

    :param changed_at: monotonic seconds at which the connection was lost or
        came back, None without any loss
    """
    if changed_at is None:
        return 0.0
    return max(0.0, changed_at + (RECONNECT if connected else BLIND) - now)
