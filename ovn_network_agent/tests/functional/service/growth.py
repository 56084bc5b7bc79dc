# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Counts what an agent does for one event, beside few and beside many."""

import collections
import contextlib
import threading

from ovn_network_agent import ownership
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

# In the paths of its modules.
_AGENT = '/ovn_network_agent/'


class Calls:
    """Counts the calls of Python functions, on threads that begin later.

    :param case: the test at whose end the counting ends
    :ivar found: dict of (name of the thread, file, function) to their number
    """

    def __init__(self, case):
        self.found = collections.Counter()
        self._counts = False
        self._begin(case)

    def _begin(self, case):
        threading.setprofile(self._profile)
        case.addCleanup(threading.setprofile, None)

    def _profile(self, frame, event, _arg):
        if event == 'call' and self._counts:
            self._count(frame.f_code)

    def _count(self, code):
        self.found[threading.get_ident(), code.co_filename,
                   code.co_qualname] += 1

    @contextlib.contextmanager
    def counted(self):
        """Count while the block runs.

        :returns: context with a dict as :attr:`found`
        """
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        self.found = collections.Counter()
        found = collections.Counter()
        self._counts = True
        try:
            yield found
        finally:
            self._counts = False
            for (ident, *where), number in self.found.items():
                found[names.get(ident, ''), *where] += number


class Lines(Calls):
    """Counts the lines of the agent that are executed, in place of calls.

    A loop over one mapping may call nothing, and each turn counts as a line.
    """

    def _begin(self, case):
        case.addCleanup(threading.settrace, threading.gettrace())
        threading.settrace(self._trace)

    def _trace(self, frame, event, _arg):
        if not self._counts or _AGENT not in frame.f_code.co_filename:
            return None
        if event == 'line':
            self._count(frame.f_code)
        return self._trace


def add_routers(world, numbers, addresses):
    """Make routers that this chassis has, each with addresses.

    :param world: :class:`cloud.Cloud`
    :param numbers: range of the numbers of the routers
    :param addresses: number of the floating IPs of each router
    """
    for number in numbers:
        high, low = divmod(number, 250)
        name = f'g{number:d}'
        world.add_router(
            name, [f'198.18.{255 - high}.{low + 1}/16'], cloud.CHASSIS,
            mac=f'fa:16:3e:00:{high + 1:02x}:{low:02x}')
        world.add_nats(name, [address(each) for each in range(
            256 + number * addresses, 256 + (number + 1) * addresses)])


def address(number):
    """An address of the provider network 198.18.0.0/16."""
    return f'198.18.{number >> 8}.{number & 255}'


def add_ports(world, numbers):
    """Machines on the provider network that this chassis has.

    :param world: :class:`cloud.Cloud`
    :param numbers: of :func:`address`
    """
    here, = world.sb.rows('Chassis', '_uuid', where=ovsdb.clauses(
        {'name': cloud.CHASSIS}))
    world.sb.transact(*(ovsdb.insert(
        'Port_Binding', logical_port=f'vm-{n:d}', type='', up=True,
        datapath=world.network, chassis=here['_uuid'], tunnel_key=1000 + n,
        mac=f'fa:16:3e:01:{n >> 8:02x}:{n & 255:02x} {address(n)}',
        external_ids=ovsdb.ovsdb_dict(
            {'neutron:cidrs': f'{address(n)}/16'})) for n in numbers))


def prove(nb, owner):
    """The proof on each managed default route, as the agent writes it."""
    nb.transact(ovsdb.update(
        'Logical_Router_Static_Route', {}, external_ids=ovsdb.ovsdb_dict({
            **ownership.marks(owner),
            ownership.EXT_ID_ADVERTISED: owner.hostname})))
