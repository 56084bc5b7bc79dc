# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What clients and servers say: control sockets, OVSDB, HTTP."""

import asyncio
import contextlib
import json
import os
import socket

from ovn_network_agent.control.socket import client
from ovn_network_agent.control.socket import commands
from ovn_network_agent.control.socket import protocol
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.readers import agent
from ovn_network_agent.forward import health_thread
from ovn_network_agent.metrics import server
from ovn_network_agent.ovsdb import query
from ovn_network_agent.privileged import overlap_servers
from ovn_network_agent.tests.fuzz import peers
from ovn_network_agent.tests.fuzz.target import Target

_SECONDS = 2.0


class _Maintenance:
    """Takes what the commands have understood."""

    def drain(self, routers, force):
        assert all(isinstance(router, str) for router in routers)
        assert isinstance(force, bool)
        return {'drains': [], 'routers': [], 'warnings': []}

    def undrain(self, routers):
        return self.drain(routers, False)


def _answered(data):
    """One client of the control socket, as the server treats clients."""
    table = commands.Table(_Maintenance(), dict)
    ours, theirs = socket.socketpair()
    with theirs:
        served = protocol.Client(ours, _SECONDS)
        theirs.settimeout(_SECONDS)
        theirs.sendall(data[:65536])
        theirs.shutdown(socket.SHUT_WR)
        try:
            for request in served.requests():
                _answer(table, served, request)
        finally:
            served.close()


def _answer(table, served, request):
    try:
        text = table.run(served, request.method, request.params)
    except commands.Refused as error:
        served.refuse(request, str(error))
    except (AttributeError, KeyError):
        # The state of this agent is empty, so it cannot be written.
        if request.method not in ('status', 'drain', 'undrain'):
            raise
    else:
        served.answer(request, text)


def _asked(data):
    with peers.speaking(data, 'agent', b'}') as path:
        client.call(path, 'status', [], _SECONDS)


def _asked_in_json(data):
    answer = json.dumps({'id': 0, 'result': data.decode(
        'utf-8', 'replace'), 'error': None}).encode()
    with peers.speaking(answer, 'agent', b'}') as path:
        agent.ask(path, 'status')


def _controller(data):
    with peers.speaking(data, 'ovn-controller.7.ctl', b'}') as path:
        directory = os.path.dirname(path)
        with open(os.path.join(directory, 'ovn-controller.pid'), 'w',
                  encoding='ascii') as opened:
            opened.write('7\n')
        controller = overlap_servers.Controller(directory)
        with contextlib.suppress(overlap_servers.Failed):
            overlap_servers.shown(controller.version())
        with contextlib.suppress(overlap_servers.Failed):
            controller.call('debug/status')


def _local_database(data):
    with peers.speaking(data, 'db.sock', b'}') as path:
        database = overlap_servers.Database('unix:' + path)
        for question in (database.external_ids,
                         lambda: database.tunnels(['192.0.2.1']),
                         lambda: database.status(['0' * 8])):
            with contextlib.suppress(overlap_servers.Failed):
                question()


def _servers(data):
    """The schema, and then the rows, in one answer after the other."""
    try:
        answers = [json.dumps(answer).encode() for answer in json.loads(data)]
    except (ValueError, TypeError, RecursionError):
        answers = [data]
    with peers.speaking(answers, 'nb.sock', b'}') as path, query.Session(
            ['unix:' + path], 'OVN_Northbound', 0.2) as session:
        session.has('NAT', 'external_ip')
        session.by_uuid('NAT', ['0'])


def _page(data):
    pages = {'/metrics': lambda: (200, 'text/plain', b'x')}
    made = server.Server('127.0.0.1:0', pages)
    asyncio.run(_served(made, data))


async def _served(made, data):
    ours, theirs = socket.socketpair()
    made._loop = asyncio.get_running_loop()
    with theirs, ours:
        ours.setblocking(False)
        theirs.settimeout(_SECONDS)
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        await made._talk(ours)


def _health(data):
    asyncio.run(_probed(data))


async def _probed(data):
    reader = asyncio.StreamReader(limit=health_thread._CHUNK)
    reader.feed_data(data)
    reader.feed_eof()
    ours, theirs = socket.socketpair()
    with theirs:
        _reader, writer = await asyncio.open_connection(sock=ours)
        try:
            await health_thread._ask(reader, writer, _Checked)
        finally:
            writer.close()


class _Check:
    path, host, statuses = '/', '', ((200, 299),)


class _Checked:
    check, address, port = _Check, '10.0.0.5', 80


TARGETS = (
    Target('control.socket.server', _answered, (protocol.Broken,),
           ('control.socket.protocol', 'control.socket.commands'), words=(
               b'{"id":0,"method":"', b'"params":[', b'"--router"',
               b'"--json"', b'drain', b'set-options', b'}', b'"result":',
               b'"error":')),
    Target('control.socket.client', _asked, (client.NoAgent, client.Refused),
           ('control.socket.client',), words=(
               b'{"id":0', b'"result":', b'"error":', b'}'), share=0.3),
    Target('control.answer', _asked_in_json, (readers.Unread,),
           ('diagnosis.readers.agent',), share=0.3),
    Target('control.controller', _controller, (OSError,),
           ('privileged.overlap_servers',), json=True, share=0.3,
           values=('result', 'error', 'ovn-controller 25.03.0', 'running')),
    Target('control.database', _local_database, (OSError,),
           ('privileged.overlap_servers',), json=True, share=0.3,
           values=('rows', 'map', 'uuid', 'external_ids', 'result')),
    Target('ovsdb.query', _servers, (query.Failed,),
           ('ovsdb.query',), json=True, share=0.2,
           values=('result', 'tables', 'columns', 'type', 'rows', '_uuid')),
    Target('metrics.http', _page, (OSError, server.h11.ProtocolError),
           ('metrics.server',), share=0.2, words=(
               b'GET ', b'HEAD ', b'/metrics', b' HTTP/1.1\r\n', b'\r\n',
               b'Host: x', b'Content-Length: ')),
    Target('forward.health_checks', _health,
           (health_thread.h11.RemoteProtocolError,),
           ('forward.health_thread',), share=0.2, words=(
               b'HTTP/1.1 200 OK\r\n', b'HTTP/1.1 100 Continue\r\n',
               b'\r\n', b'HTTP/1.1 503 x\r\n', b'Content-Length: ')),
)
