# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The health of each backend after a pass, as frozen values."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Repair:
    """Objects of one kind that others removed or changed."""

    kind: str
    # Since the start of the agent.
    count: int
    # Seconds since the epoch.
    last: float


@dataclasses.dataclass(frozen=True, slots=True)
class Health:
    """The known state of one backend."""

    name: str
    unreadable: str = ''
    # Resources that are not as desired, and the first one's reason.
    failed: int = 0
    reason: str = ''
    # Beside the loop.
    working: bool = False
    # Begin of the last successful reading, seconds since the epoch.
    read: float | None = None
    # Begin of the last reading that has ended, monotonic seconds.
    looked: float | None = None
    # Of the next attempt, monotonic seconds.
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
