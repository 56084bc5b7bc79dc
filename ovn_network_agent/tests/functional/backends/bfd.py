# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The row NB_Global of the tests of BFD timers."""

from ovn_network_agent import ownership
from ovn_network_agent.tests.functional.ovn import cloud
from ovn_network_agent.tests.functional.ovsdb import base as ovsdb

HERE, OTHER, DEAD = cloud.CHASSIS, cloud.OTHER, 'gw3'
FAST = {'bfd-min-rx': '200', 'bfd-min-tx': '200', 'bfd-mult': '3'}
SLOW = {'bfd-min-rx': '300', 'bfd-min-tx': '300', 'bfd-mult': '4'}
TEXT = 'bfd-min-rx=200 bfd-min-tx=200 bfd-mult=3'
MARK = ownership.EXT_ID_BFD
REQUEST = ownership.EXT_ID_BFD_REQUEST
# The keys with one request, and with two.
ONE = {MARK, REQUEST + HERE}
BOTH = {MARK, REQUEST + HERE, REQUEST + OTHER}
# Of other programs.
KEPT = {'mac_prefix': '0a:00:00'}
ALSO_KEPT = {'somebody': 'else'}


class Row:
    """The row NB_Global of a test."""

    def add_row(self, **options):
        self.nb.transact(ovsdb.insert(
            'NB_Global', options=ovsdb.ovsdb_dict({**KEPT, **options}),
            external_ids=ovsdb.ovsdb_dict(ALSO_KEPT)))

    def set_options(self, options):
        """An operator writes the options, and leaves the marks."""
        self.nb.transact(ovsdb.update('NB_Global', {}, options=(
            ovsdb.ovsdb_dict({**KEPT, **options}))))

    def options(self):
        """The options of BFD, dict; the others are as they were."""
        found = dict(self.nb.rows('NB_Global')[0]['options'][1])
        self.assertLessEqual(KEPT.items(), found.items())
        return {key: value for key, value in found.items()
                if key not in KEPT}

    def marks(self):
        """The external_ids of agents, dict; the others are as they were."""
        found = dict(self.nb.rows('NB_Global')[0]['external_ids'][1])
        self.assertLessEqual(ALSO_KEPT.items(), found.items())
        return {key: value for key, value in found.items()
                if key not in ALSO_KEPT}

    def become(self, options):
        """Wait for the options of BFD."""
        self.eventually(lambda: self.options() == options,
                        lambda: (self.options(), self.marks()))
