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

"""The time that python-ovs needs for the answer to a monitor request.

    python3 -m tools.bench.parser [ROWS]

The answer has ROWS rows of the table NAT.  Run this with a Python whose
python-ovs has its parser in C, and with one whose has not: which one it is
stands in the output.
"""

import json
import statistics
import sys
import time
import uuid

from ovs import json as ovs_json

# Bytes that python-ovs reads from a socket at once.
CHUNK = 4096
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
    """Parse a text in the pieces in which it comes from a socket."""
    parser = ovs_json.Parser()
    for start in range(0, len(text), CHUNK):
        parser.feed(text[start:start + CHUNK])
    return parser.finish()


def main(rows):
    """Print the median of some runs."""
    text = answer(rows)
    times = []
    for _run in range(RUNS):
        start = time.process_time()
        parsed = parse(text)
        times.append(time.process_time() - start)
        if len(parsed['result'][2]['NAT']) != rows:
            raise AssertionError(parsed)
    print(f'{ovs_json.PARSER}: {rows} rows, {len(text)} bytes, '
          f'{statistics.median(times) * 1000:.0f} ms of processor time')


if __name__ == '__main__':
    main(int((*sys.argv[1:], 5000)[0]))
