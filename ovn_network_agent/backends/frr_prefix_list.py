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

"""Backend frr_prefix_list: the prefix lists that let our networks out.

Ours are the entries ``permit <network> ge 32 le 32`` of the one list, with
any sequence number; and, of the list of IPv6 that has the same name, those
with 128.  The operator's own entries have another shape; one of exactly this
shape cannot be told from ours and is taken for ours.

Each daemon of FRR has its own copy of a prefix list, and one that was
restarted may have lost it (bgpd's counts for BGP).  An entry that is not in
all copies is read as a :class:`PartialEntry`, which is not what is wanted,
and is written again with the number it has.
"""

import dataclasses
import shutil

from ovn_network_agent.backends import base
from ovn_network_agent.frr import output
from ovn_network_agent.privileged import context
from ovn_network_agent.privileged import vtysh
from ovn_network_agent import resources

# FRR's own step between two sequence numbers.
_STEP = 5


@dataclasses.dataclass(frozen=True, slots=True)
class PartialEntry(resources.PrefixListEntry):
    """An entry that some daemon has lost.

    Never equal to an entry, but in its place.

    :ivar missing_in: names of the daemons
    """

    missing_in: tuple = ()


class PrefixListBackend(base.Backend):
    """See the module."""

    name = 'frr_prefix_list'
    kinds = (resources.PrefixListEntry,)

    def check(self):
        program = (self.conf.frr.vtysh_wrapper.split() or ['vtysh'])[0]
        if not self.conf.frr.frr_prefix_list or shutil.which(program):
            return []
        return [f'{program} is not found: the prefix list of FRR is written '
                'to through vtysh; install FRR, set [frr] vtysh_wrapper to '
                'what reaches it in its container, or set [frr] '
                'frr_prefix_list to nothing']

    def read(self, known):
        name = self.conf.frr.frr_prefix_list
        return list(_found(name, self._copies()).values()) if name else []

    def apply(self, delta):
        name = self.conf.frr.frr_prefix_list
        adds = [*delta.create, *(new for _old, new in delta.update)]
        failures = {r.ref: f'not an entry of the prefix list "{name}" for '
                           'host routes'
                    for r in (*adds, *delta.delete)
                    if (r.name, r.ge, r.le) != (name, *_hosts(r.network))}
        adds = [r for r in adds if r.ref not in failures]
        deletes = [r for r in delta.delete if r.ref not in failures]
        if adds or deletes:
            failures.update(self._change(name, adds, deletes))
        return failures

    def _change(self, name, adds, deletes):
        before = self._copies()
        present = _found(name, before)
        missing = [r for r in adds if present.get(r.ref) != r]
        # Without this FRR complains, and nothing would be wrong.
        deletes = [r for r in deletes if r.ref in present]
        if not missing and not deletes:
            return {}
        numbers = _numbers(before)
        refused, said = self._call(
            vtysh.change_prefix_list, name,
            [[r.network, r.ge, r.le, numbers(r.network)] for r in missing],
            [[r.network, r.ge, r.le] for r in deletes])
        lists = {'adds': missing, 'deletes': deletes}
        failures = {lists[kind][index].ref: reason
                    for kind, index, reason in refused}
        after = _found(name, self._copies())
        reason = 'FRR did not take it: ' + (
            ' '.join(said.split()) or 'no message')
        missed = [r for r in missing if after.get(r.ref) != r]
        missed += [r for r in deletes if r.ref in after]
        for resource in missed:
            failures.setdefault(resource.ref, reason)
        return failures

    def _copies(self):
        """dict of daemon to list of :class:`frr.output.Entry`."""
        found = self._call(vtysh.read_prefix_list,
                           self.conf.frr.frr_prefix_list)
        return {daemon: [output.Entry(*entry) for entry in entries]
                for daemon, entries in found.items()}

    def _call(self, function, *args):
        try:
            return function(*args)
        except context.FAILURES as error:
            raise base.BackendError(
                f'prefix list of FRR: {error}') from error


def _hosts(network):
    """(ge, le) for host routes of the family of a network."""
    return (128, 128) if ':' in network else (32, 32)


def _networks(entries):
    """{network: sequence} of the entries of our shape."""
    return {entry.prefix: entry.sequence for entry in entries
            if entry.action == 'permit' and
            (entry.ge, entry.le) == _hosts(entry.prefix)}


def _by_family(copies):
    """The copies of the list of each family, a list of dicts of daemon.

    A daemon that has no such list is left out, but for bgpd.
    """
    return [{daemon: of_family for daemon, entries in copies.items()
             if (of_family := [entry for entry in entries
                               if (':' in entry.prefix) == ipv6])
             or daemon == 'BGP'} for ipv6 in (False, True)]


def _found(name, copies):
    """{ref: resource} of what is in any copy."""
    found = {}
    for of_family in _by_family(copies):
        found.update(_found_of(name, of_family))
    return found


def _found_of(name, copies):
    by_daemon = {daemon: _networks(entries)
                 for daemon, entries in copies.items()}
    found = {}
    for network in sorted(set().union(*by_daemon.values())):
        missing_in = tuple(sorted(d for d, networks in by_daemon.items()
                                  if network not in networks))
        resource = resources.PrefixListEntry(name, network,
                                             *_hosts(network))
        if missing_in:
            resource = PartialEntry(name, network, *_hosts(network),
                                    missing_in=missing_in)
        found[resource.ref] = resource
    return found


def _numbers(copies):
    """A function that gives the sequence number for a network."""
    four, six = map(_numbers_of, _by_family(copies))
    return lambda network: (six if ':' in network else four)(network)


def _numbers_of(copies):
    """Likewise, for one list.

    An entry that some copy has keeps its number, unless another copy uses
    that for something else.
    """
    taken = {}
    for entries in copies.values():
        for entry in entries:
            taken.setdefault(entry.sequence, set()).add(entry[1:])
    old = {}
    for entries in copies.values():
        old.update(_networks(entries))
    highest = max(taken, default=0)

    def number(network):
        nonlocal highest
        if network in old and len(taken[old[network]]) == 1:
            return old[network]
        highest += _STEP
        return highest
    return number
