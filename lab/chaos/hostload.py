# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Load and steal of the host while a run goes on.

The machine of the lab shares no kernel with the host, so that a program on
the host measures: ``python -m lab.chaos.hostload FILE``, until its standard
input ends.  A line is a JSON object: the monotonic seconds, the load of one
minute, and the ticks of the processors (all, idle and stolen).
"""

import json
import os
import select
import sys
import time

NAME = 'hostload.jsonl'
_PERIOD = 5.0


def line():
    """A measurement, text."""
    with open('/proc/stat', encoding='ascii') as opened:
        ticks = [int(word) for word in opened.readline().split()[1:9]]
    return json.dumps({
        'at': round(time.monotonic(), 1), 'load': os.getloadavg()[0],
        'ticks': sum(ticks), 'idle': ticks[3] + ticks[4],
        'steal': ticks[7]})


def evaluate(lines: list[str]) -> dict:
    """The measurements as a dict.

    :returns: dict: processors, load_mean, load_max, busy_share and steal_share
        (0 to 1); empty with less than two measurements
    """
    rows = [json.loads(text) for text in lines]
    if len(rows) < 2:
        return {}
    ticks, idle, stolen = (rows[-1][name] - rows[0][name]
                           for name in ('ticks', 'idle', 'steal'))
    loads = [row['load'] for row in rows]
    return {'processors': os.cpu_count(),
            'load_mean': round(sum(loads) / len(loads), 2),
            'load_max': round(max(loads), 2),
            'busy_share': round(1 - idle / max(1, ticks), 3),
            'steal_share': round(stolen / max(1, ticks), 4)}


def main(path):
    """Measure until standard input ends."""
    with open(path, 'w', encoding='ascii') as opened:
        while True:
            print(line(), file=opened, flush=True)
            ready = select.select([0], [], [], _PERIOD)[0]
            if ready and not os.read(0, 4096):
                break
        print(line(), file=opened, flush=True)


if __name__ == '__main__':
    main(sys.argv[1])
