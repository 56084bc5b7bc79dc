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

"""Which parts of the agent there are: all, or those that forward ports.

Without OVN (both remotes empty) nothing of it, of Open vSwitch or of FRR is
needed or touched: what would is not loaded, and its privileged daemons are
not started.
"""

import typing

from ovn_network_agent.conf import mode as options
from ovn_network_agent import privileged

_FORWARDING = 'port_forward'
_LEAK = 'veth_leak'


class Mode(typing.NamedTuple):
    """Names of what is loaded; None stands for everything.

    :ivar name: as the status and the log have it
    :ivar drivers: of those that are configured
    :ivar backends: of those that are installed
    :ivar contexts: of privileged daemons
    """

    name: str
    drivers: frozenset | None = None
    backends: frozenset | None = None
    contexts: frozenset | None = None

    def only(self, part, names):
        """What of a list of names belongs to this mode, in its order.

        :param part: 'drivers', 'backends' or 'contexts'
        :param names: iterable of str
        """
        allowed = getattr(self, part)
        return [name for name in names if allowed is None or name in allowed]


FULL = Mode('full')

# All that is in the kernel.
_KERNEL = frozenset({'link', 'sysctl', 'address', 'neighbour', 'route',
                     'rule', 'nftables'})


def of(conf):
    """The :class:`Mode` that a configuration asks for.

    :param conf: an oslo.config ConfigOpts without problems
    """
    if not options.forwards_only(conf):
        return FULL
    # Without a VRF there is nothing that a veth pair could connect.
    drivers = {_FORWARDING, _LEAK} if conf.frr.vrf_name else {_FORWARDING}
    return Mode(options.FORWARDS_ONLY, frozenset(drivers), _KERNEL,
                frozenset({'kernel', 'netfilter'}))


def contexts(conf):
    """The privileged daemons that are needed.

    :returns: list of :class:`privileged.context.Context`
    """
    names = of(conf).only('contexts', [
        context.name for context in privileged.CONTEXTS])
    return [c for c in privileged.CONTEXTS if c.name in names]
