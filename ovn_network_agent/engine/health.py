# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The health of each backend after a pass, as frozen values."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Repair:
    """Objects of one kind that others removed or changed."""

    kind: str
    # Number of objects since the start of the agent.
    count: int
    # When the last one was found, seconds since the epoch.
    last: float


@dataclasses.dataclass(frozen=True, slots=True)
class Health:
    """The known state of one backend."""

    name: str
    # Why the backend cannot be read or reached, or ''.
    unreadable: str = ''
    # Number of resources that are not as desired, and the first one's reason.
    failed: int = 0
    reason: str = ''
    # Whether the backend works beside the loop.
    working: bool = False
    # When the last successful reading began, seconds since the epoch.
    read: float | None = None
    # When the last reading that has ended, well or not, began.  Monotonic
    # seconds.
    looked: float | None = None
    # When failed work is tried again, monotonic seconds.
    retry: float | None = None
    # By kind.
    repairs: tuple[Repair, ...] = ()

    @property
    def state(self) -> str:
        """One word: 'ok', 'failing', 'at work' or 'not read'."""
        if self.unreadable or self.failed:
            return 'failing'
        if self.working:
            return 'at work'
        return 'not read' if self.read is None else 'ok'
