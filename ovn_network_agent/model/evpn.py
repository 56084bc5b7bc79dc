# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The VNI that a provider network has in EVPN."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Vni:
    """A VNI, with what BGP needs to know of it."""

    number: int  # one of evpn_names.VNIS; 0 with a problem
    # As FRR writes them ('65011:1001'); empty: by the node or the AS.
    rd: str = ''
    imports: tuple[str, ...] = ()
    exports: tuple[str, ...] = ()
    problem: str = ''  # why the network is left out, or ''
