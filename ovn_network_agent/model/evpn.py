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

"""The VNI that a provider network has in EVPN."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Vni:
    """A VNI, with what BGP needs to know of it."""

    # One of evpn_names.VNIS; 0 with a problem.
    number: int
    # Route distinguisher and targets, as FRR writes them: '65011:1001'; empty
    # for those that follow from the node or the AS.
    rd: str = ''
    imports: tuple[str, ...] = ()
    exports: tuple[str, ...] = ()
    # Why the network is left out, or ''.
    problem: str = ''
