# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A privileged daemon refers to no call that is answered."""

import errno
import queue
import sys
import threading
import types
import weakref

from oslo_privsep import comm
from oslotest import base

from ovn_network_agent.privileged.daemon import context
from ovn_network_agent.tests import waiting

REFERRED = []


class Answer(list):
    """A result that a test can watch."""


def read():
    """An entry point with a large result."""
    made = Answer([1])
    REFERRED.append(weakref.ref(made))
    return made


class Channel:
    """The channel to an agent that asks one thing after the other."""

    def __init__(self):
        self.requests = queue.SimpleQueue()
        self.answers = queue.SimpleQueue()
        self.error = None

    def __iter__(self):
        return iter(self.requests.get, None)

    def send(self, message):
        number, (kind, *values) = message
        if self.error is not None:
            raise self.error
        self.answers.put((number, kind, [list(each) for each in values]))


class Argument(list):
    """An argument that a test can watch."""


class DaemonTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        del REFERRED[:]
        self.channel = Channel()
        self.daemon = context.ForkedDaemon(self.channel, types.SimpleNamespace(
            conf=types.SimpleNamespace(user=None, group=None, capabilities=(),
                                       thread_pool_size=2),
            prefix=__name__.rpartition('.')[0],
            is_entrypoint=lambda function: True,
            set_client_mode=lambda enabled: None))
        self.addCleanup(self.daemon.thread_pool.shutdown)
        self.thread = threading.Thread(target=self.daemon.loop)

    def start(self):
        self.thread.start()
        self.addCleanup(self.thread.join)
        self.addCleanup(self.channel.requests.put, None)

    def ask(self, number, *arguments):
        self.channel.requests.put((number, (
            comm.Message.CALL, f'{__name__}.read', arguments, {})))

    def test_nothing_is_left_of_an_answered_call(self):
        self.start()
        for number in range(3):
            self.ask(number)
            self.assertEqual((number, comm.Message.RET.value, [[1]]),
                             self.channel.answers.get(timeout=20))
            waiting.eventually(lambda: REFERRED[-1]() is None,
                               'the result is still there')

    def test_nothing_is_left_of_the_arguments(self):
        self.start()
        argument = Argument([2])
        referred = weakref.ref(argument)
        self.ask(1, argument)
        del argument
        # The function takes none, which is an answer, too.
        self.assertEqual(comm.Message.ERR.value,
                         self.channel.answers.get(timeout=20)[1])
        waiting.eventually(lambda: referred() is None,
                           'the argument is still there')

    def test_the_agent_has_nothing_imported_but_entry_points(self):
        self.start()
        sys.modules.pop('this', None)
        for number, name in enumerate((
                ('this.s',), (f'{__package__}_of_others.read',), (7,), ())):
            self.channel.requests.put((number, (
                comm.Message.CALL, *name, (), {})))
            self.assertEqual((number, comm.Message.ERR.value),
                             self.channel.answers.get(timeout=20)[:2])
        self.assertNotIn('this', sys.modules)

    def test_the_end_of_the_agent_ends_the_loop(self):
        self.channel.error = BrokenPipeError(errno.EPIPE, 'gone')
        self.start()
        self.ask(1)
        waiting.eventually(lambda: self.daemon.communication_error,
                           'no error so far')
        self.ask(2)
        self.thread.join(20)
        self.assertFalse(self.thread.is_alive())
