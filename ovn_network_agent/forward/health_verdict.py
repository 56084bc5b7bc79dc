# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The verdict about a destination, from the results of checks.  Pure."""


class Verdict:
    """Whether a destination is alive, by the results of one check.

    The first result decides at once, because a dead destination gets clients
    until then.  Later, several equal results in a row are needed, so that one
    lost packet does not move clients to and fro.

    :param rise: good results in a row after which a dead destination is alive
    :param fall: bad results in a row after which a living one is dead
    """

    def __init__(self, rise: int, fall: int) -> None:
        self._rise = rise
        self._fall = fall
        self._against = 0
        # None without any result.
        self.alive: bool | None = None
        # The number of results in a row that led to this.
        self.row = 0

    def take(self, good: bool) -> bool:
        """Count one result; returns whether ``alive`` has changed."""
        if good is self.alive:
            self._against = 0
            return False
        self._against += 1
        if self.alive is not None and self._against < (
                self._rise if good else self._fall):
            return False
        self.alive, self.row, self._against = good, self._against, 0
        return True
