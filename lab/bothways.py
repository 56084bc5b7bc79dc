# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Probes in both directions at once, through one floating IP."""

import contextlib
import dataclasses
import time

from lab import families
from lab import probe

# Seconds between two probes, each way.
INTERVAL = 0.02
# Seconds for a first answer.
PATIENCE = 20


@dataclasses.dataclass(frozen=True)
class Report:
    """The results of the probes of both directions."""

    inward: probe.Report  # probe.Report, from the client to the floating IP
    outward: probe.Report  # probe.Report, from the machine to the client

    @property
    def lost(self):
        """Lost probes of both directions, int."""
        return self.inward.lost + self.outward.lost

    @property
    def longest_gap_ms(self):
        """The longest outage of both directions, milliseconds."""
        return max(self.inward.longest_gap_ms, self.outward.longest_gap_ms)

    def __str__(self):
        return (f'lost {self.inward.lost:d} of {self.inward.sent:d} in, '
                f'{self.outward.lost:d} of {self.outward.sent:d} out, longest '
                f'gap {self.longest_gap_ms:.0f} ms')


class BothWays:
    """Probes while the block runs; both directions answer at its begin."""

    def __init__(self, client, vm, address: str):
        self._probes = (probe.Probe(client, 'icmp', address, INTERVAL,
                                    patience=PATIENCE),
                        probe.Probe(vm.node, 'icmp',
                                    families.of(address).client, INTERVAL,
                                    patience=PATIENCE))
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            for direction in self._probes:
                stack.enter_context(direction)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_exc):
        self._stack.close()

    def wait_answered(self, timeout=20):
        """Wait until both directions answer new probes."""
        since = time.monotonic()
        for direction in self._probes:
            direction.wait_answered(timeout, after=since)

    def so_far(self):
        """The :class:`Report` up to now."""
        return Report(*(one.report() for one in self._probes))

    def stop(self):
        """End both."""
        return Report(*(one.stop() for one in self._probes))
