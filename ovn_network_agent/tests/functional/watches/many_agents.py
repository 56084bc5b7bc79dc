# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Agents at many addresses, for the question of the health probe.

It runs as a process of its own: python many_agents.py PORT, and ends with its
input.  The chassis has the name of the address.  At addresses that begin with
SILENT, connections are accepted, and nothing is said.
"""

import asyncio
import sys

from ovn_network_agent.watches import egress_question

SILENT = '127.82.'


async def _answer(reader, writer):
    address, _port = writer.get_extra_info('sockname')
    if address.startswith(SILENT):
        await reader.read()
    else:
        await reader.readuntil(b'\r\n\r\n')
        writer.write(b'HTTP/1.1 200 \r\n\r\n' +
                     egress_question.line('ready', address))
    writer.close()


async def _serve(port):
    async with await asyncio.start_server(_answer, '0.0.0.0', port,
                                          backlog=1024):
        print('up', flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == '__main__':
    asyncio.run(_serve(int(sys.argv[1])))
