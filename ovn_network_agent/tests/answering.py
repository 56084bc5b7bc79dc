# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Servers of TCP in network namespaces, with one answer for each client."""

import subprocess
import sys

_PROGRAM = '''
import socketserver, sys
class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.sendall({answer})
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
server = Server((sys.argv[1], int(sys.argv[2])), Handler)
print('listening', flush=True)
server.serve_forever()
'''


def program(answer):
    """The text of a server, whose arguments are an address and a port.

    :param answer: expression of Python for the answer, bytes, which may use
        ``self`` (:class:`socketserver.BaseRequestHandler`) and ``sys``
    """
    return _PROGRAM.format(answer=answer)


def serve(case, namespace, text, address, port):
    """Start a server, ended with a test, and wait until it listens.

    :param case: the test
    :param namespace: :class:`valuespaces.Namespace`
    :param text: see :func:`program`
    :param address: text
    :param port: number
    :returns: subprocess.Popen
    """
    server = subprocess.Popen(
        namespace.inside(sys.executable, '-c', text, address, str(port)),
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    case.addCleanup(server.stdout.close)
    case.addCleanup(server.wait)
    case.addCleanup(server.kill)
    case.assertEqual('listening\n', server.stdout.readline())
    return server
