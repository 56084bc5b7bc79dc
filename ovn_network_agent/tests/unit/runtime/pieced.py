# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""A view whose comparison has batches."""

from ovn_network_agent.ovn import queries
from ovn_network_agent.ovn import view
from ovn_network_agent.tests.unit import cloud

FIPS = ['198.51.100.10', '198.51.100.11', '198.51.100.12']


class Pieced(view.View):
    """A view of some addresses, whose rows are looked at in three batches.

    :ivar fips: the addresses
    :ivar looks: of each look, 'full', the number of a batch, or ''
    :ivar fails_at: number of the batch at which the databases are away
    """

    confirmed = compared = True

    def __init__(self, conf):
        super().__init__(conf, {'ovs': None})
        self.fips = FIPS
        self.looks = []
        self.fails_at = None
        self.cut = [
            queries.RowBatch({('nb', 'NAT'): {0, 1}}, first=True),
            queries.RowBatch({('nb', 'NAT'): {2, 3}}),
            queries.RowBatch({('nb', 'NAT'): {4}}, last=True)]

    def batches(self):
        return self.cut

    def snapshot(self, phase, full=False, batch=None):
        number = self.cut.index(batch) if batch else None
        self.looks.append('full' if full else '' if batch is None else number)
        if number is not None and number == self.fails_at:
            raise view.NotReady('NB is away')
        self.last = cloud.snapshot(cloud.router(fips=self.fips), phase=phase)
        return self.last
