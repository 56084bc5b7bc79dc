# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The processor time that a large answer of ovsdb-server costs python-ovs.

    python3 -m tools.bench.parser [ROWS]

The answer has ROWS rows of the table NAT.  The parser of python-ovs, in Python
or in C, and the one of the agent read the same answer in turns.
"""

import json
import statistics
import sys
import time
import uuid

from ovs import json as ovs_json

from ovn_network_agent.ovsdb import framing

# Bytes that python-ovs reads from a socket at once, and that the agent reads.
CHUNK, OUR_CHUNK = 4096, 65536
RUNS = 5


def answer(rows):
    """The text of an answer with this many rows."""
    table = {str(uuid.UUID(int=number)): {'initial': {
        'external_ip': f'198.51.{number // 250}.{number % 250}',
        'logical_ip': f'10.0.{number // 250}.{number % 250}',
        'external_mac': ['set', []], 'logical_port': ['set', []],
        'type': 'dnat_and_snat',
        'external_ids': ['map', [
            ['neutron:fip_external_mac', 'fa:16:3e:00:00:01'],
            ['neutron:fip_id', str(uuid.UUID(int=number + 2 ** 64))],
            ['neutron:fip_port_id', str(uuid.UUID(int=number + 2 ** 65))],
            ['neutron:router_name', 'neutron-router']]]}}
        for number in range(rows)}
    return json.dumps({'id': 1, 'error': None, 'result': [
        True, str(uuid.UUID(int=0)), {'NAT': table}]})


def parse(text):
    """Parse a text with python-ovs in the pieces of its socket."""
    parser = ovs_json.Parser()
    for start in range(0, len(text), CHUNK):
        parser.feed(text[start:start + CHUNK])
    return parser.finish()


def parse_ours(text):
    """Likewise, with the agent's parser."""
    framer = framing.Framer()
    data = text.encode()
    found = [whole for start in range(0, len(data), OUR_CHUNK)
             for whole in framer.feed(data[start:start + OUR_CHUNK])]
    return framing.value(found[0])


def main(rows):
    """Print the medians of some runs."""
    text = answer(rows)
    times = {parse: [], parse_ours: []}
    for _run in range(RUNS):
        for function, taken in times.items():
            start = time.process_time()
            parsed = function(text)
            taken.append(time.process_time() - start)
            if len(parsed['result'][2]['NAT']) != rows:
                raise AssertionError(parsed)
    theirs, ours = map(statistics.median, times.values())
    print(f'{rows} rows, {len(text)} bytes, milliseconds of processor time: '
          f'python-ovs ({ovs_json.PARSER}) {theirs * 1000:.0f}, '
          f'the agent {ours * 1000:.0f}, {theirs / ours:.1f} times as fast')


if __name__ == '__main__':
    main(int((*sys.argv[1:], 5000)[0]))
