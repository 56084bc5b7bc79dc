# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Backend frr_static: the static routes that FRR redistributes into BGP.

Ours are the host routes of the VRF whose next hop is ``veth_nexthop``, or
those through ``bridge_dev`` in default VRF mode, and that have no other
property.  Everything else among the static routes is the operator's.  FRR
has one route for a prefix and next hop, whatever its distance or tag: where
the operator has that with such a property, ours would replace it, and so is
reported and not added.  The same goes for a blackhole of the operator,
beside which FRR takes nothing.

A route that is configured is here, whether zebra has installed it or not: it
has to be known to be withdrawn.  Whether it has the effect it is for is
looked at by :mod:`watches.frr_verification`.
"""

import itertools
import shutil

from oslo_log import log as logging

from ovn_network_agent import notices
from ovn_network_agent import resources
from ovn_network_agent.backends import base
from ovn_network_agent.privileged import context
from ovn_network_agent.privileged import vtysh

LOG = logging.getLogger(__name__)

# Beyond this number of attempts what is left is reported as it stands; to
# single out one of 5,000 takes 25.
_ATTEMPTS = 50
# FRR takes no next hop beside these.
_NO_WAY = ('blackhole', 'reject', 'Null0')


class StaticBackend(base.Backend):
    """Static host routes through the next hop of the agent."""

    name = 'frr_static'
    system = 'FRR'
    kinds = (resources.Announcement,)
    doubted_by = (notices.FRR_RESTARTED, notices.ZEBRA_STATIC)
    revived_by = (notices.FRR_RESTARTED,)

    def __init__(self, conf):
        super().__init__(conf)
        self._taken = {}
        self._refresh_due = False

    def check(self):
        if self._kernel_announces or self._vtysh_found():
            return []
        return [f'{self._program} is not found: FRR is written to through '
                'vtysh; install FRR, set [frr] vtysh_wrapper to what reaches '
                'it in its container, or set [fip_route] announce_method to '
                'kernel']

    @property
    def _kernel_announces(self):
        return self.conf.fip_route.announce_method == 'kernel'

    @property
    def _program(self):
        return (self.conf.frr.vtysh_wrapper.split() or ['vtysh'])[0]

    def _vtysh_found(self):
        return shutil.which(self._program) is not None

    @property
    def _vrf(self):
        return self.conf.frr.vrf_name

    @property
    def _nexthop(self):
        """What the routes of ours lead to."""
        if self._vrf:
            return self.conf.veth_leak.veth_nexthop
        return self.conf.bridge_dev

    def read(self, known):
        if self._kernel_announces and not self._vtysh_found():
            # Then nobody on this node has written a route there either.
            return []
        configured = self._call(vtysh.read_static, self._vrf)
        ours = {prefix for prefix, rest in configured
                if rest == self._nexthop and prefix.endswith('/32')}
        # As old as the last read, like all that the reconciler knows.
        self._taken = {(self._vrf, prefix): rest for prefix, rest in
                       configured if prefix not in ours and
                       self._excludes_ours(rest)}
        return [resources.Announcement(self._vrf, prefix, self._nexthop)
                for prefix in sorted(ours)]

    def _excludes_ours(self, rest):
        return rest.split(' ')[0] in (self._nexthop, *_NO_WAY)

    def apply(self, delta):
        adds = [*delta.create, *(new for _old, new in delta.update)]
        deletes = [*(old for old, _new in delta.update), *delta.delete]
        failures = {r.ref: f'not a route of VRF "{self._vrf}" through '
                           f'{self._nexthop}'
                    for r in (*adds, *deletes) if not self._is_ours(r)}
        failures.update({
            r.ref: 'the operator has this route with other properties: '
                   f'"{self._taken[r.key]}"; remove that one'
            for r in (*adds, *deletes) if r.key in self._taken})
        adds = [r for r in adds if r.ref not in failures]
        deletes = [r for r in deletes if r.ref not in failures]
        if adds or deletes:
            attempts = itertools.repeat(None, _ATTEMPTS)
            failures.update(self._change(adds, deletes, attempts))
            if 'staticd' not in self._refresh(bool(deletes)):
                # vtysh is content without it, so look.
                missed = self._missed(adds, deletes)
                failures.update({r.ref: 'FRR did not take it' for r in missed
                                 if r.ref not in failures})
        return failures

    def in_effect(self, announced):
        # Beside a kernel route that is to go they cannot be selected yet.
        known = self._call(vtysh.read_known, self._vrf, 'static')
        return {r.ref for r in announced if r.prefix in known}

    def _change(self, adds, deletes, attempts):
        """Write routes, in halves when FRR does not take all.

        FRR rejects all that it put into one transaction for the sake of one
        route, such as one that the operator has as a blackhole.

        :param attempts: iterator, one item for each further attempt
        :returns: dict of ref to reason
        """
        routes = {'adds': adds, 'deletes': deletes}
        refused, said = self._call(
            vtysh.change_static, self._vrf,
            *([[r.prefix, r.nexthop] for r in routes[name]]
              for name in ('adds', 'deletes')))
        failures = {routes[name][index].ref: reason
                    for name, index, reason in refused}
        # Now and then vtysh says something that does not matter.
        missed = [r for r in self._missed(adds, deletes)
                  if r.ref not in failures] if said else []
        if not missed:
            return failures
        if len(adds) + len(deletes) == 1 or next(attempts, self) is self:
            reason = 'FRR did not take it: ' + ' '.join(said.split())
            return failures | {r.ref: reason for r in missed}
        wanted = set(adds)
        middle = (len(missed) + 1) // 2
        for half in (missed[:middle], missed[middle:]):
            if half:
                failures.update(self._change(
                    [r for r in half if r in wanted],
                    [r for r in half if r not in wanted], attempts))
        return failures

    def _missed(self, adds, deletes):
        """What is not as wanted, by a look at what there is."""
        there = {r.key for r in self.read(frozenset())}
        return ([r for r in adds if r.key not in there] +
                [r for r in deletes if r.key in there])

    def _is_ours(self, route):
        return route.vrf == self._vrf and route.nexthop == self._nexthop

    def _refresh(self, withdrawn):
        """Soft refresh, where configured; a failure fails nothing else.

        :returns: the daemons that run, empty when not known
        """
        when = self.conf.frr.bgp_soft_refresh
        due = self._refresh_due or when == 'always' or (
            when == 'on-removal' and withdrawn)
        try:
            if when == 'never' or not due:
                return vtysh.read_daemons(withdrawn)
            self._refresh_due = True
            running, said = vtysh.soft_refresh(self._vrf)
        except context.FAILURES as error:
            LOG.warning('No soft refresh of BGP, to be repeated at the next '
                        'change: %s', error)
            return ()
        if said or 'bgpd' not in running:
            LOG.warning('No soft refresh of BGP, to be repeated at the next '
                        'change: %s', said or 'bgpd is not running')
        else:
            self._refresh_due = False
        return running

    def _call(self, function, *args):
        try:
            return function(*args)
        except context.FAILURES as error:
            raise base.BackendError(
                f'static routes of FRR: {error}') from error
