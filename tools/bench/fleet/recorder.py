# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What a replica of the agent sends to a server, and what it holds."""

import json
import os
import socket
import threading

from ovn_network_agent.ovn import events
from ovn_network_agent.ovsdb import connection
from ovn_network_agent.ovsdb import replica as replicas
from ovn_network_agent.tests import waiting


def complete(decoder, text):
    """(list of the whole messages at the begin of a text, the rest)."""
    messages = []
    while text:
        try:
            message, end = decoder.raw_decode(text)
        except ValueError:
            break
        messages.append(message)
        text = text[end:]
    return messages, text


class Recorder:
    """Stands between a replica and a server, and keeps what it asks for."""

    def __init__(self, path, directory):
        self._path = path
        self.requests = []
        self._listener = socket.socket(socket.AF_UNIX)
        place = os.path.join(directory, 'recorder')
        self._listener.bind(place)
        self._listener.listen()
        self.remote = 'unix:' + place
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            client, _address = self._listener.accept()
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._path)
            for source, target, keep in ((client, server, True),
                                         (server, client, False)):
                threading.Thread(target=self._copy, daemon=True,
                                 args=(source, target, keep)).start()

    def _copy(self, source, target, keep):
        decoder, text = json.JSONDecoder(), ''
        while True:
            try:
                data = source.recv(1 << 20)
                target.sendall(data)
            except OSError:
                # The replica has ended, and the other thread has closed it.
                break
            if not data:
                break
            messages, text = complete(
                decoder, text + (data.decode() if keep else ''))
            for message in messages:
                if message.get('method', 'echo') != 'echo':
                    self.requests.append(message)
        target.close()


def replica(name, server, directory):
    """Follow a server as an agent does."""
    recorder = Recorder(server.remote.removeprefix('unix:'), directory)
    handler = replicas.Handler()
    made = connection.Database(name, recorder.remote, handler, 10, 60000)
    for watch in events.VIEW:
        if watch.database == name:
            made.require(watch.table, watch.columns)
    for database, table, clauses in events.CONDITIONS:
        if database == name:
            made.only(table, clauses)
    made.start()
    try:
        waiting.eventually(lambda: made.connected, 'the replica', 120)
        with made.rows() as rows:
            counted = {table: len(rows[table]) for table in rows}
    finally:
        made.stop()
        handler.stop()
    # The schema is fetched before, on connections that end.
    monitors = [one for one in recorder.requests
                if one['method'].startswith(('monitor', 'set_db'))]
    return monitors, counted
