# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the replica needs of python-ovs without its private names."""

from oslotest import base
from ovs import jsonrpc
from ovs.db import idl as ovs_idl

from ovn_network_agent.ovsdb import session_idl


class SessionIdlTest(base.BaseTestCase):

    def test_a_new_connection_gives_up_questions(self):
        helper = ovs_idl.SchemaHelper(None, {
            'name': 'D', 'version': '1.0.0', 'tables': {}})
        idl = session_idl.SessionIdl('unix:/nowhere', helper, 0)
        answers = []
        idl.session.ask(jsonrpc.Message.create_request('echo', []),
                        answers.append)
        self.assertEqual([None], answers, 'it is not connected')
        idl.session.send = lambda message: 0
        # The number of the connection, and the answers by then.
        for seqno, count in (1, 1), (1, 1), (2, 3):
            idl.session.seqno = seqno
            idl.restart_fsm()
            self.assertEqual([None] * count, answers)
            idl.session.ask(jsonrpc.Message.create_request('echo', []),
                            answers.append)


class UpdateWarningsTest(base.BaseTestCase):

    def test_only_those_of_the_idl(self):
        heard = []
        session_idl.collect(heard)
        self.addCleanup(session_idl.collect, None)
        ovs_idl.vlog.warn('one')
        jsonrpc.vlog.warn('another')
        ovs_idl.vlog.err('two')
        self.assertEqual(['one', 'two'], heard)
