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
"""Probes one way: sent here, counted there, without an answer."""

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
# Seconds for what is under way to arrive.
_LATE = 0.5


@dataclasses.dataclass(frozen=True)
class Report:
    """What became of the datagrams of one direction.

    :ivar sent: number of them
    :ivar lost: how many did not arrive
    :ivar twice: how many arrived more than once
    :ivar longest_gap_ms: from the sending of a lost one to the sending of
        the next one that arrived, milliseconds; 0 when none was lost
    """

    sent: int
    lost: int
    twice: int
    longest_gap_ms: float


def summarise(sent, arrived):
    """Account for datagrams.

    :param sent: list of monotonic seconds, one for each
    :param arrived: list of their numbers
    :returns: :class:`Report`
    """
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

    :param source: the Node that sends
    :param target: the Node that counts
    :param address: where to, text
    :param port: UDP port, of no other one
    :ivar report: :class:`Report`, after :meth:`stop`
    """

    def __init__(self, source, target, address, port):
        self._receiver = _program(target, 'receive', str(port))
        self._sender = None
        try:
            # It is ready when it says so.
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
        """End it.

        :returns: :class:`Report`
        """
        sent = json.loads(self._sender.communicate()[0])
        time.sleep(_LATE)
        arrived = json.loads(self._receiver.communicate()[0])
        if not arrived:
            raise waiting.NodeError(f'none of {len(sent)} datagrams arrived')
        # Before the first one arrived the way may not have been there.
        first = min(arrived)
        self.report = summarise(sent[first:],
                                [number - first for number in arrived])
        return self.report


def _program(node, *argv):
    return node.popen([sys.executable, '-I', '-S', PROGRAM, *argv],
                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)
