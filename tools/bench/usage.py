# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Processor time and memory of a process, from /proc."""

import os
import threading
import time

_TICKS = os.sysconf('SC_CLK_TCK')


class Process:
    """One process."""

    def __init__(self, pid):
        self.pid = pid

    def processor(self):
        """Seconds of processor time so far."""
        with open(f'/proc/{self.pid}/stat') as opened:
            fields = opened.read().rpartition(')')[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def memory(self):
        """Resident memory in MB."""
        return self._status('VmRSS')

    def peak(self):
        """The largest resident memory so far, in MB."""
        return self._status('VmHWM')

    def _status(self, name):
        with open(f'/proc/{self.pid}/status') as opened:
            return next(int(line.split()[1]) / 1000 for line in opened
                        if line.startswith(name))


class Peak:
    """The largest share of a processor that a process uses in a second."""

    def __init__(self, process):
        self._process = process
        self._most = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        before, started = self._process.processor(), time.monotonic()
        while not self._ended.wait(1):
            now, moment = self._process.processor(), time.monotonic()
            self._most = max(self._most, (now - before) / (moment - started))
            before, started = now, moment

    def end(self):
        """The largest share; 1.0 is a whole processor."""
        self._ended.set()
        self._thread.join()
        return self._most


def share(process, seconds):
    """Per cent of a processor that a process uses."""
    before, started = process.processor(), time.monotonic()
    time.sleep(seconds)
    used = process.processor() - before
    return used / (time.monotonic() - started) * 100
