# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Cost of the table of port forwarding: python tools/bench/forward.py [VIPS]

Needs root; works in a network namespace of its own.  Rendering is done anew
at each change of the rules, so also when a backend dies: "again" is that.
"""

import argparse
import ctypes
import dataclasses
import os
import subprocess
import time

from ovn_network_agent import ownership
from ovn_network_agent.drivers.common import consistent_hashing
from ovn_network_agent.drivers.common import nft_table
from ovn_network_agent.model import port_forwards
from ovn_network_agent.nft import codec
from ovn_network_agent.nft import rendering
from ovn_network_agent.nft import transaction

CLONE_NEWNET = 0x40000000
RULES = (('udp', 53), ('tcp', 53))


def vips(count, destinations):
    """VIPs with two rules, each with backends of its own."""
    return tuple(port_forwards.Vip(
        f'198.18.{number // 256}.{number % 256}', managed=True,
        rules=tuple(port_forwards.Rule(proto, port, 1053, tuple(
            port_forwards.Destination(
                f'10.{index}.{number // 256}.{number % 256}')
            for index in range(destinations))) for proto, port in RULES))
        for number in range(count))


def without_one(of):
    """The same, with one backend dead."""
    first, *others = of
    rule, *rules = first.rules
    destination, *destinations = rule.destinations
    dead = dataclasses.replace(rule, destinations=(
        dataclasses.replace(destination, alive=False), *destinations))
    return (dataclasses.replace(first, rules=(dead, *rules)), *others)


def timed(function, *args):
    """(result, milliseconds)."""
    started = time.perf_counter()
    result = function(*args)
    return result, (time.perf_counter() - started) * 1e3


def nft(script):
    """Have nft run a script in this network namespace.

    :param script: text
    :raises subprocess.CalledProcessError: when nft refuses the script
    """
    subprocess.run(['nft', '-f', '-'], input=script, text=True, check=True)


def measure(of, manner):
    """Milliseconds of each step, and the size of the text, a dict."""
    consistent_hashing.owners.cache_clear()
    rendering.balance.cache_clear()
    table, first = timed(nft_table.wanted, 4, of, manner)
    after, again = timed(nft_table.wanted, 4, without_one(of), manner)
    packed = codec.pack(table.content)
    rendering.balance.cache_clear()
    _script, check = timed(lambda: transaction.replacement(
        codec.unpack(packed), {}, ()))
    scripts = [transaction.replacement(t.content, {}, ())
               for t in (table, after)]
    _none, load = timed(nft, scripts[0])
    _none, replace = timed(nft, scripts[1])
    subprocess.run(['nft', 'delete', 'table', 'ip', ownership.NFT_TABLE],
                   check=True)
    return {'render': first, 'again': again, 'check': check, 'load': load,
            'replace': replace,
            'KB': len(rendering.text(table.content)) / 1024}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('vips', nargs='?', type=int, default=1000)
    count = parser.parse_args().vips
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
        raise SystemExit(f'unshare: {os.strerror(ctypes.get_errno())}')
    for kind in ('jhash', 'consistent'):
        for destinations in (1, 2, 6):
            found = measure(vips(count, destinations),
                            nft_table.Manner(64000, kind, True))
            print(f'{count} VIPs, {len(RULES)} rules of {destinations} '
                  'destinations,'
                  f' {kind:10} ' + '  '.join(
                      f'{name} {value:.0f}' for name, value
                      in found.items()))


main()
