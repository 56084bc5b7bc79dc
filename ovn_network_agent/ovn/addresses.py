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

"""The addresses of routers that this chassis answers for, one by one.  Pure.

A router may have thousands of addresses, and an event changes one of them: an
address of an unchanged source is the same object as before.
"""

from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
import itertools

from ovn_network_agent import model
from ovn_network_agent import served
from ovn_network_agent.ovn import nats
from ovn_network_agent.ovn import routers

#: By address; a second answer for one address has its number behind it.
Addresses = dict[str, model.ServedAddress]


class OfRouter:
    """The addresses of one router.

    :ivar present: the same mapping while no address has changed
    """

    def __init__(self, of_nat: nats.OfRouter) -> None:
        self._nats = of_nat
        self._frame: routers.Frame | None = None
        self._ports: tuple[model.GatewayPort, ...] = ()
        self._sent: dict[str, frozenset[str]] = {}
        self._balanced: dict[str, model.BalancedAddress] = {}
        self.present: Addresses = {}

    def update(self, router: model.Router, frame: routers.Frame,
               sent: Iterable[tuple[str, frozenset[str]]]) -> None:
        """Bring the addresses up to date.

        :param router: with the states of handovers
        """
        touched, former = self._nats.take_outdated(), self._sent
        self._sent = dict(sent)
        for lrp in former.keys() | self._sent.keys():
            touched |= (former.get(lrp, frozenset()) ^
                        self._sent.get(lrp, frozenset()))
        if frame is not self._frame or router.ports != self._ports:
            self._frame, self._ports = frame, router.ports
            self._balanced = {each.address: each for each in frame.balanced}
            touched = {*self._nats.addresses(), *served.own(router),
                       *self._balanced, *itertools.chain(*self._sent.values()),
                       *(each.address for each in self.present.values())}
        if touched:
            self._build(router, touched)

    def sources(self, address: str) -> served.Sources:
        """The sources of an address."""
        return served.Sources(
            self._nats.of_address(address), self._balanced.get(address),
            [lrp for lrp, sent in self._sent.items() if address in sent])

    def objection(self, address: str, lrp: str) -> str:
        """Why an address is not announced on purpose, or ''."""
        statement = self._nats.statement(address)
        judgement = None if self._frame is None else self._frame.judgement
        if judgement is None or judgement.silent and not (
                statement.own or statement.native):
            return ''
        return judgement.objection(address, lrp, statement)

    def _build(self, router: model.Router, touched: Iterable[str]) -> None:
        made, own = self.present.copy(), served.own(router)
        for address in touched:
            former = list(_take_out(made, address))
            for number, subject in enumerate(served.subjects(
                    router, address, self.sources(address),
                    own.get(address, ()))):
                withheld = self.objection(address, subject.port.lrp)
                if withheld:
                    subject = dataclasses.replace(subject, withheld=withheld)
                made[_key(address, number)] = (
                    former[former.index(subject)] if subject in former
                    else subject)
        if made != self.present:
            self.present = made


def _key(address: str, number: int) -> str:
    return f'{address} ({number + 1})' if number else address


def _take_out(made: Addresses,
              address: str) -> Iterator[model.ServedAddress]:
    number = 0
    while (subject := made.pop(_key(address, number), None)) is not None:
        yield subject
        number += 1
