# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Backend egress: the rows of OVN NB of egress addresses."""

from typing import Any

from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.backends.northbound import locked_rows
from ovn_network_agent.common import notices
from ovn_network_agent.conf.options import egress_ip
from ovn_network_agent.ovn.egress import egress_rows

_MOVES = 'egress_ip_failovers_total'
LOCK = locked_rows.lock_name(egress_ip.GROUP)


class EgressBackend(locked_rows.Backend):
    """The rows of each egress address at a router, as one object."""

    name = 'egress'
    kinds = (resources.EgressRows,)
    doubted_by = (notices.EGRESS,)
    driver = egress_ip.GROUP
    rows = egress_rows.read
    commands = {'set': egress_rows.SetEgress,
                'remove': egress_rows.RemoveEgress}

    def __init__(self, conf: Any) -> None:
        super().__init__(conf)
        self.counts = {_MOVES: 0} if self.driver in conf.drivers else {}

    def apply(self, delta: base.Delta) -> base.Failures:
        """Write, and count the addresses that move; see the base.

        :raises base.BackendError: as there
        """
        failures = super().apply(delta)
        changes: list[tuple[Any, Any]] = [
            *((each, None) for each in delta.delete), *delta.update,
            *((None, each) for each in delta.create)]
        done = [(old, new) for old, new in changes
                if (old or new).ref not in failures]
        self.counts = {_MOVES: self.counts.get(_MOVES, 0) + egress_rows.moves(
            *(filter(None, each) for each in zip(*done, strict=True)))
            } if done else self.counts
        return failures
