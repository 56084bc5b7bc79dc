# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The description of the pass that the loop asks for."""

from collections.abc import Callable
from collections.abc import Collection
import dataclasses

from ovn_network_agent import model
from ovn_network_agent import resources
from ovn_network_agent.engine import guard


@dataclasses.dataclass(frozen=True, slots=True)
class Pass:
    """One pass that the loop asks for."""

    snapshot: model.Snapshot
    # Words of the module notices, or names of backends, to be read again.
    stale: Collection[str] = ()
    # Ask every driver and read every backend again.
    full: bool = False
    # False while the snapshot may be incomplete: then only VIPs without a
    # living destination are withdrawn.
    prune: bool = True
    # Where deletion ends; resources of earlier stages stay for another pass.
    down_to: resources.Stage = resources.Stage.GUARD
    # A gateway port has moved here: announce first.
    urgent: bool = False
    # Try failed backends again before their back-off is over.
    retry: bool = False
    # Do not wait between announcements and what follows them.
    immediate: bool = False
    # Names of backends to read because time has passed; their system may be
    # unchanged.
    reads: Collection[str] = ()
    # The first routers of the snapshot alone, which an urgent pass announces
    # before the drivers are asked about the others.
    first_part: model.Snapshot | None = None
    # Returns None for no guard; called only for a pass that withdraws.
    limits: Callable[[], guard.Limits | None] = dataclasses.field(
        default=lambda: None)

    @property
    def dead_vips(self) -> set[str]:
        """The addresses of the VIPs without a living destination."""
        forwards = self.snapshot.forwards
        return {vip.address for vip in (forwards.vips if forwards else ())
                if vip.dead}
