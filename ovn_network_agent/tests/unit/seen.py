# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What the loop sees of OVN, as a test says."""

from ovn_network_agent.ovn import view
from ovn_network_agent.tests.unit import cloud


class Seen(view.View):
    """A view of some routers.

    :param groups: their gateway groups
    :ivar routers: as of :func:`cloud.router`
    :ivar full: of each look, whether it was to be complete
    :ivar meanwhile: function that is called at each look, and may raise
    """

    confirmed = True

    def __init__(self, conf, *routers, groups=(), **values):
        super().__init__(conf, {'ovs': None}, **values)
        self.routers, self._groups = routers, groups
        self.full = []
        self.meanwhile = lambda: None

    def snapshot(self, phase, full=False):
        self.full.append(full)
        self.meanwhile()
        self.last = cloud.snapshot(*self.routers, groups=self._groups,
                                   phase=phase)
        return self.last
