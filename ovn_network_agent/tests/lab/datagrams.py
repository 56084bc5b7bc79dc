# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The program that sends datagrams, or counts them, for oneway.py.

``datagrams.py send ADDRESS PORT SECONDS`` and ``datagrams.py receive PORT``.
Both print ``ready``, and end with their standard input.  Then they print JSON:
the time of each sent datagram, or the arrived datagrams.
"""

import json
import select
import socket
import sys
import time


def _send(address, port, interval):
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    print('ready', flush=True)
    start, sent = time.monotonic(), []
    while not select.select([0], [], [], max(
            0.0, start + len(sent) * interval - time.monotonic()))[0]:
        sent.append(time.monotonic())
        try:
            made.sendto(b'%d' % (len(sent) - 1), (address, port))
        except OSError:
            # A datagram that was not sent counts as lost.
            continue
    return sent


def _receive(port):
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind(('0.0.0.0', port))
    print('ready', flush=True)
    arrived = []
    while True:
        ready = select.select([0, made], [], [])[0]
        if made in ready:
            arrived.append(int(made.recv(100)))
        if 0 in ready:
            return arrived


if __name__ == '__main__':
    if sys.argv[1] == 'send':
        print(json.dumps(_send(sys.argv[2], int(sys.argv[3]),
                               float(sys.argv[4]))))
    else:
        print(json.dumps(_receive(int(sys.argv[2]))))
