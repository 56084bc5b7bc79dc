# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""How many static routes a transaction of FRR has, and how they get there."""

import os
import socket
import threading

import fixtures
from oslo_config import cfg
from oslo_config import fixture as config
from oslotest import base

from ovn_network_agent.conf import registered
from ovn_network_agent.conf.options import frr as options
from ovn_network_agent.frr import session
from ovn_network_agent.privileged.routing import vty

ANSWER = b'\0\0\0\0'
LINES = [f'ip route 198.51.100.{n}/32 br-ex' for n in range(250)]


class BatchesTest(base.BaseTestCase):
    """A transaction tells how long the next one may be."""

    def setUp(self):
        super().setUp()
        self.now = 0.0
        self.pace = session.BatchSize(lambda: self.now)

    def sizes(self, count, each):
        """Sizes of the transactions of COUNT routes that take EACH seconds."""
        found = []
        for some in self.pace.parts(['route'] * count):
            found.append(len(some))
            self.now += len(some) * each
        return found

    def test_sizes(self):
        """A quick daemon gets all others at once, and no short one last.

        A slow daemon is not kept from answering, and a clock that stands is
        no licence.
        """
        for count, each, sizes in (
                (10000, 0.0002, [2500, 7500]),
                # Two seconds are 7,407 routes.
                (10010, 0.00027, [2500, 7510]),
                (12500, 0.00027, [2500, 7407, 2593]),
                (7501, 0.0014, [2500, 2500, 2501]),
                (40000, 0.0, [2500, 20000, 17500]),
                (3, 0.0002, [3]), (0, 0.0002, []), (2510, 0.0002, [2510])):
            self.pace.forget()
            self.assertEqual(sizes, self.sizes(count, each))

    def test_an_earlier_change_tells_too(self):
        """For some seconds only."""
        for seconds, sizes in ((9, [8000]), (11, [2500, 5500])):
            self.pace.forget()
            self.sizes(2000, 0.00022)
            self.now += seconds
            self.assertEqual(sizes, self.sizes(8000, 0.00022))

    def test_few_lines_tell_nothing(self):
        """Beside 10,000 routes one line takes a quarter of a second."""
        self.sizes(2000, 0.00022)
        self.sizes(1, 0.25)
        self.assertEqual([8000], self.sizes(8000, 0.00022))

    def test_a_slow_one_makes_the_next_ones_small_again(self):
        self.sizes(2000, 0.00022)
        self.sizes(8000, 0.002)
        self.assertEqual([2500, 2500, 3000], self.sizes(8000, 0.002))

    def test_a_transaction_that_broke_off_leaves_nothing_known(self):
        self.sizes(2000, 0.00022)
        next(self.pace.parts(['route'] * 2000))
        self.assertEqual([2500, 5500], self.sizes(8000, 0.00022))
        self.pace.forget()
        self.assertEqual([2500, 5500], self.sizes(8000, 0.00022))


class Daemon:
    """Listens as a daemon of FRR, and answers each command with success.

    :param directory: of the socket
    :param name: of the daemon
    :param loses: whether what follows a command in the buffer is lost, as in
        mgmtd
    :ivar commands: list of text
    :ivar most: the most commands that came at once
    """

    def __init__(self, directory, name, loses):
        self.commands, self.most = [], 0
        self._loses = loses
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind(os.path.join(directory, name + '.vty'))
        self._listening.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _accept(self):
        while True:
            try:
                client, _address = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,),
                             daemon=True).start()

    def _serve(self, client):
        rest = b''
        with client:
            while data := client.recv(65536):
                *commands, rest = (rest + data).split(b'\0')
                if self._loses:
                    commands, rest = commands[:1], b''
                self.most = max(self.most, len(commands))
                self.commands += [each.decode() for each in commands]
                client.sendall(ANSWER * len(commands))


class LinesTest(base.BaseTestCase):

    def configure(self, name, loses):
        """Write LINES to a daemon; returns the :class:`Daemon`."""
        directory = self.useFixture(fixtures.TempDir()).path
        registered.group(options)
        self.useFixture(config.Config(cfg.CONF)).config(
            frr_run_dir=directory, group=options.GROUP)
        daemon = Daemon(directory, name, loses)
        self.addCleanup(daemon.close)
        self.assertEqual('', vty.configure(LINES))
        return daemon

    def test_staticd_gets_many_at_once(self):
        daemon = self.configure('staticd', loses=False)
        self.assertEqual(LINES, [each for each in daemon.commands
                                 if each.startswith('ip route')])
        self.assertGreater(daemon.most, 100)

    def test_mgmtd_gets_one_by_one(self):
        # More would be lost, and the answers would never come.
        daemon = self.configure('mgmtd', loses=True)
        self.assertEqual(LINES, [each for each in daemon.commands
                                 if each.startswith('ip route')])
        self.assertEqual(1, daemon.most)
