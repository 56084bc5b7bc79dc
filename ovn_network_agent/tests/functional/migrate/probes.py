# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Traffic on each path of the node, and the server that answers."""

import json
import subprocess
import sys

from ovn_network_agent.tests import answering
from ovn_network_agent.tests.functional.migrate import places

_SERVER = answering.program("b'here'")
# Asks again and again until its input ends, and then says how often it asked,
# and why there was no answer.  Each question has its time, so none is lost
# because the end comes, or because the machine is slow.
_PROBE = '''
import json, os, select, socket, struct, sys, time
def connected():
    with socket.create_connection((sys.argv[2], int(sys.argv[3])), 5) as s:
        return s.recv(10) == b'here'
def pinged():
    name = os.getpid() & 0xffff
    head = struct.pack('!BBHHH', request, 0, 0, name, made)
    total = sum(struct.unpack('!4H', head))
    check = ~((total & 0xffff) + (total >> 16)) & 0xffff
    # The kernel writes the checksum of ICMPv6, and leaves out the header.
    echo.sendto(struct.pack('!BBHHH', request, 0, check, name, made),
                (sys.argv[2], 0))
    until = time.monotonic() + 5
    while (left := until - time.monotonic()) > 0:
        echo.settimeout(left)
        got = echo.recv(200)[header:header + 8]
        if got[0] == reply and got[4:] == head[4:]:
            return True
if ':' in sys.argv[2]:
    family, protocol, request, reply, header = socket.AF_INET6, 58, 128, 129, 0
else:
    family, protocol, request, reply, header = socket.AF_INET, 1, 8, 0, 20
if sys.argv[1] == 'ping':
    echo = socket.socket(family, socket.SOCK_RAW, protocol)
ask = {'ping': pinged, 'connect': connected}[sys.argv[1]]
made, lost = 0, []
while not made or not select.select([sys.stdin], [], [], 0.05)[0]:
    made += 1
    begun = time.monotonic()
    try:
        why = '' if ask() else 'no answer'
    except OSError as e:
        why = repr(e)
    if why:
        lost.append(f'{time.strftime("%X")}, after '
                    f'{time.monotonic() - begun:.3f} s: {why}')
print(json.dumps([made, lost]))
'''


class Probe:
    """Traffic that goes on until :meth:`end`.

    :param case: the test
    :param namespace: where it begins
    :param args: 'ping' and an address, or 'connect', an address and a port
    :ivar why: after the end, the reason of each loss, a list of texts
    """

    def __init__(self, case, namespace, *args):
        self._process = subprocess.Popen(
            namespace.inside(sys.executable, '-c', _PROBE, *args),
            stdout=subprocess.PIPE, text=True, stdin=subprocess.PIPE)
        case.addCleanup(self._process.stdout.close)
        case.addCleanup(self._process.wait)
        case.addCleanup(self._process.kill)

    def end(self):
        """End it; gives (sent, lost)."""
        said, _nothing = self._process.communicate()
        sent, self.why = json.loads(said)
        return sent, len(self.why)


def serve(case, namespace, address, port):
    """Have somebody answer connections until the end of a test.

    :param case: the test
    :param namespace: :class:`valuespaces.Namespace`
    """
    answering.serve(case, namespace, _SERVER, address, port)


class Traffic:
    """Mix-in for a test case with ``client`` and ``machines``."""

    def probes(self):
        """Traffic on each path, dict of name to :class:`Probe`."""
        alpha, beta = places.ALPHA.fips[0], self.machines[places.BETA.lrp]
        return {
            'in': Probe(self, self.client, 'ping', alpha),
            'out': Probe(self, beta, 'ping', places.CLIENT),
            'hairpin': Probe(self, beta, 'ping', alpha),
            'forward': Probe(self, self.client, 'connect', places.FORWARD.vip,
                             str(places.FORWARD.port))}

    def answers(self):
        """Whether each path answers: the first packet may be lost to ARP."""
        return not any(lost for _sent, lost in [
            probe.end() for probe in self.probes().values()])
