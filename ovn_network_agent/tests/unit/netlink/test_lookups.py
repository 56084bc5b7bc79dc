# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Errors of a look-up, and the tables of neighbours of the kernel."""

from oslotest import base

from ovn_network_agent.netlink.objects import lookups
from ovn_network_agent.netlink.objects import procfs


class Silent:
    """A kernel that does not answer within the limit of its socket."""

    def ask(self, _kind, _body):
        raise TimeoutError('timed out')


class LookupTest(base.BaseTestCase):

    def test_no_answer(self):
        error = self.assertRaises(
            TimeoutError, lookups.look_up, Silent(), '192.0.2.1')
        self.assertEqual('route to 192.0.2.1: timed out', error.strerror)


# Of a machine with two processors, after 5,000 addresses at once.
TEXT = '''entries  allocs   destroys hash_grows lookups  hits     table_fulls
00000400 000025b8 000033e4 0000000a   00004371 00001d79 00002ce4
00000400 000025b8 000033e4 0000000a   00004371 00001d79 00000001
'''


class NeighbourTableTest(base.BaseTestCase):

    def test_the_text_of_the_kernel(self):
        self.assertEqual(procfs.Table(1024, 2048, 0x2ce5),
                         procfs.parsed('2048\n', TEXT))

    def test_another_form(self):
        for limit, text in (('', TEXT), ('x', TEXT), ('1', ''),
                            ('1', TEXT.replace('table_fulls', 'other')),
                            ('1', TEXT.splitlines()[0]),
                            ('1', TEXT + '00000001\n'),
                            ('1', TEXT.replace('00000001', 'zz'))):
            self.assertIsNone(procfs.parsed(limit, text))

    def test_the_files_of_this_kernel(self):
        """In the kernel's first network namespace, where the tests run."""
        for version in (4, 6):
            table = procfs.neighbour_table(version)
            self.assertLessEqual(0, table.entries)
            self.assertLess(0, table.limit)
