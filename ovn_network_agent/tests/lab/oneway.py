# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Probes in one direction, which get no answer."""

import dataclasses
import json
import os
import subprocess
import sys
import time

from lab import waiting

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                       'datagrams.py')
INTERVAL = 0.02
# Seconds for the last datagrams to arrive.
_LATE = 0.5


@dataclasses.dataclass(frozen=True)
class Report:
    """The results of the datagrams of one direction."""

    sent: int
    lost: int
    twice: int  # number of datagrams that arrived more than once
    # Longest time in milliseconds from the sending of a lost datagram to the
    # sending of the next one that arrived; 0 without a loss
    longest_gap_ms: float


def summarise(sent: list[float], arrived: list[int]):
    """Evaluate datagrams."""
    there = set(arrived)
    lost, longest, since = 0, 0.0, None
    for number, at in enumerate(sent):
        if number in there:
            if since is not None:
                longest = max(longest, at - since)
            since = None
            continue
        lost += 1
        since = at if since is None else since
    if since is not None:
        longest = max(longest, sent[-1] + INTERVAL - since)
    return Report(len(sent), lost, len(arrived) - len(there), 1000 * longest)


class OneWay:
    """Datagrams from one node to another, until the block ends.

    :param port: UDP port that nothing else uses
    """

    def __init__(self, source, target, address: str, port):
        self._receiver = _program(target, 'receive', str(port))
        self._sender = None
        try:
            # The first line says that the receiver is ready.
            self._receiver.stdout.readline()
            self._sender = _program(source, 'send', address, str(port),
                                    str(INTERVAL))
            self._sender.stdout.readline()
        except BaseException:
            self.__exit__()
            raise
        self.report = None

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        for one in (self._sender, self._receiver):
            if one is not None and one.poll() is None:
                one.kill()
                one.wait()

    def stop(self):
        """End the probes."""
        sent = json.loads(self._sender.communicate()[0])
        time.sleep(_LATE)
        arrived = json.loads(self._receiver.communicate()[0])
        if not arrived:
            raise waiting.NodeError(f'none of {len(sent)} datagrams arrived')
        # Before the first arrival, there may have been no connection.
        first = min(arrived)
        self.report = summarise(sent[first:],
                                [number - first for number in arrived])
        return self.report


def _program(node, *argv):
    return node.popen([sys.executable, '-I', '-S', PROGRAM, *argv],
                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)
