# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What hosts outside see: who asks them, and what must never come."""

import json
import subprocess

from lab import plan

_TENANTS = f'net 192.168.0.0/16 or net {plan.TENANTS6}'
_RULES = """
table inet heard {
    set v4 { type ipv4_addr; flags dynamic; size 64; }
    set v6 { type ipv6_addr; flags dynamic; size 64; }
    chain seen {
        type filter hook prerouting priority raw;
        icmp type echo-request add @v4 { ip saddr }
        icmpv6 type echo-request add @v6 { ip6 saddr }
    }
}
"""


def listen(node):
    """Note from now on who sends echo requests to a node."""
    node.run(['nft', '-f', '-'], input=_RULES)


def forget(node):
    """Begin anew."""
    node.run(['nft', '-f', '-'], input='flush set inet heard v4\n'
             'flush set inet heard v6\n')


def heard(node):
    """The sources of echo requests."""
    return {each for item in json.loads(node.out(
        'nft', '-j', 'list', 'table', 'inet', 'heard'))['nftables']
        for each in item.get('set', {}).get('elem', ())}


class Judge:
    """Captures what is from or to a tenant's address, outside of the cloud.

    :param places: of (Node, device)
    """

    def __init__(self, *places):
        self._programs = [node.popen(
            ['tcpdump', '-i', device, '-nn', '-l', '-q', '--immediate-mode',
             _TENANTS], text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE) for node, device in places]
        for each in self._programs:
            # Then it captures.
            while 'listening on' not in each.stderr.readline():
                if each.poll() is not None:
                    raise OSError('tcpdump has ended')

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.packets()

    def packets(self):
        """End, and tell the packets: a list of text."""
        found = []
        for each in self._programs:
            if each.poll() is None:
                each.terminate()
            if not each.stdout.closed:
                # It ends with an empty line.
                found += each.communicate()[0].split('\n')
        return [line for line in found if line]
