# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Sets an address anew, so that the kernel notifies its listeners again."""

import ipaddress
import os

from ovn_network_agent import privileged
from ovn_network_agent.netlink import wire
from ovn_network_agent.netlink.objects import addresses
from ovn_network_agent.privileged.limits import limits
from ovn_network_agent.privileged.network import channel
from ovn_network_agent.privileged.network import checks


@privileged.kernel.change
def renew(dev: str, address: str) -> bool:
    """Set an address, 'address/length' (IPv4, below 32), anew in one batch; a
    host address keeps the device's routes and neighbours meanwhile.

    :returns: False when the device lacks the address; nothing is done then
    :raises OSError: when a change failed; the address may be missing
    """
    limits.current().check_renewal(checks.device(dev),
                                   checks.interface(address))
    index = checks.index(dev)
    stand_in = f'{ipaddress.IPv4Interface(address).ip}/32'
    create = wire.NLM_F_CREATE | wire.NLM_F_EXCL
    with channel.kernel() as kernel:
        present = {a.address: a.protocol
                   for a in addresses.read(kernel, index)}
        if address not in present:
            return False
        # its mark, by which the agent recognises it
        body = addresses.encode(index, checks.interface(address),
                                present[address])
        steps = [(addresses.RTM_DELADDR, 0, body),
                 (addresses.RTM_NEWADDR, create, body)]
        if stand_in not in present:
            other = addresses.encode(index, checks.interface(stand_in))
            steps = [(addresses.RTM_NEWADDR, create, other), *steps,
                     (addresses.RTM_DELADDR, 0, other)]
        for _index, number, text in kernel.batch(steps):
            raise OSError(number, f'{address} on {dev}: '
                                  f'{text or os.strerror(number)}')
    return True
