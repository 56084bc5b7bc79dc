# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The checks of a rules file beyond its schema, and the resulting values."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import typing
from typing import Any

from ovn_network_agent.common import ip_text
from ovn_network_agent.files import file_problems
from ovn_network_agent.forward import schema
from ovn_network_agent.model import port_forwards

if typing.TYPE_CHECKING:
    from ovn_network_agent.files import document as documents

_TIMEOUT = 1.0
# RFC 1122: "this network", and the networks that were never assigned.
_NOBODY = [ip_text.network(text) for text in ('0.0.0.0/8', '240.0.0.0/4')]
# Destination, port and protocol.
_Behind = tuple[str, int, str]


class Checker:
    """Checks one document, and makes its values.

    :param wrong: what the schema found; these values are not checked again
    """

    def __init__(self, document: 'documents.Document',
                 wrong: Iterable[file_problems.Flaw]) -> None:
        self._document = document
        # The schema says nothing about a key that is there twice.
        self._wrong = {flaw.path for flaw in (*document.flaws, *wrong)}
        self.flaws = list(wrong)
        self._vips: dict[str, file_problems.Path] = {}
        # By destination: masqueraded, path of the rule.
        self._behind: dict[_Behind, tuple[bool, file_problems.Path]] = {}

    def vips(self) -> tuple[port_forwards.Vip, ...]:
        """The VIPs of the document; complete if there is no flaw then."""
        listed = (self._document.value or {}).get(schema.KEY) if isinstance(
            self._document.value, dict | None) else None
        if not isinstance(listed, list):
            return ()
        return tuple(
            vip for index, item in enumerate(listed)
            if isinstance(item, dict) and
            (vip := self._vip((schema.KEY, index), item)))

    # -- common parts ------------------------------------------------------

    def _flaw(self, path: file_problems.Path, value: object,
              text: str) -> None:
        self.flaws.append(file_problems.Flaw(
            self._document.line(path), path, value, text))

    def _get(self, item: Mapping[str, Any], path: file_problems.Path, key: str,
             default: Any = None) -> Any:
        """A value of a mapping; the default for a missing or wrong value."""
        if path + (key,) in self._wrong:
            return default
        return item.get(key, default)

    def _items(self, item: Mapping[str, Any], path: file_problems.Path,
               key: str) -> Iterator[tuple[file_problems.Path, Any]]:
        """Path and value of the right items in a list of a mapping."""
        listed = item.get(key)
        if not isinstance(listed, list):
            return
        for index, value in enumerate(listed):
            if path + (key, index) not in self._wrong:
                yield path + (key, index), value

    def _address(self, path: file_problems.Path, text: object,
                 unfit: Callable[[ip_text.Address], None],
                 family: int = 0) -> str | None:
        """An address as canonical text, or None with a flaw.

        :param unfit: raises ValueError, with the remedy
        :param family: IP version that the address has to have, 0 for any
        """
        if not isinstance(text, str) or path in self._wrong:
            return None
        try:
            address = parse_address(text)
            unfit(address)
        except ValueError as error:
            self._flaw(path, text, str(error))
            return None
        if family and address.version != family:
            self._flaw(path, text,
                       f'is IPv{address.version:d} and its VIP is '
                       f'IPv{family:d}; there is no translation between the '
                       'two, so name a destination of the same family')
            return None
        return str(address)

    # -- a VIP ------------------------------------------------------------

    def _vip(self, path: file_problems.Path,
             item: Mapping[str, Any]) -> port_forwards.Vip:
        address = self._address(path + ('vip',), item.get('vip'),
                                _as_vip)
        if address is not None:
            self._check_unique(path + ('vip',), item['vip'], address)
        own = self._get(item, path, 'masquerade', False)
        check = self._check(path, item)
        rules: list[port_forwards.Rule | None] = []
        ports: dict[tuple[str, int], file_problems.Path] = {}
        for where, rule in self._items(item, path, 'rules'):
            if isinstance(rule, dict):
                made = self._rule(where, rule, address, own, check)
                self._one_each(where, rule, ports)
                rules.append(made)
        return port_forwards.Vip(
            address or '', self._get(item, path, 'manage_vip', False),
            self._get(item, path, 'hairpin_masquerade', False),
            self._get(item, path, 'router_masquerade', False),
            tuple(rule for rule in rules if rule))

    def _check_unique(self, path: file_problems.Path, text: str, address: str
                      ) -> None:
        first = self._vips.setdefault(address, path)
        if first != path:
            self._flaw(path, text,
                       f'this VIP is in line {self._document.line(first):d} '
                       f'already ({file_problems.where_is(first)}); put all '
                       'its rules there')

    def _one_each(self, path: file_problems.Path, rule: Mapping[str, Any],
                  ports: dict[tuple[str, int], file_problems.Path]) -> None:
        key = (self._get(rule, path, 'proto'), self._get(rule, path, 'port'))
        if None in key:
            return
        first = ports.setdefault(key, path)
        if first != path:
            proto, port = key
            self._flaw(path + ('port',), port,
                       f'{proto} port {port:d} of this VIP is forwarded '
                       f'in line {self._document.line(first)} already '
                       f'({file_problems.where_is(first)}); for several '
                       'destinations use dest_addrs there')

    # -- a rule -----------------------------------------------------------

    def _rule(self, path: file_problems.Path, rule: Mapping[str, Any],
              vip: str | None, own: bool,
              inherited: port_forwards.HealthCheck | None
              ) -> port_forwards.Rule | None:
        proto = self._get(rule, path, 'proto')
        port = self._get(rule, path, 'port')
        dest_port = self._get(rule, path, 'dest_port', 0) or port
        masquerade = self._get(rule, path, 'masquerade', own)
        check = (self._check(path, rule) if 'health_check' in rule
                 else inherited)
        if check and proto == 'udp' and not check.port:
            self._flaw(path, file_problems.NOTHING,
                       'a check connects to a TCP port, and this is a rule '
                       'for UDP; name the port in health_check (port: 53), '
                       'or write "health_check: null" for this rule')
        destinations = self._destinations(path, rule, vip)
        if None in (proto, port):
            return None
        for where, destination in destinations:
            self._same_masquerade(
                where, (destination.address, int(dest_port), proto),
                masquerade)
        return port_forwards.Rule(
            proto, int(port), int(dest_port),
            tuple(destination for _path, destination in destinations),
            masquerade, check)

    def _destinations(self, path: file_problems.Path, rule: Mapping[str, Any],
                      vip: str | None
                      ) -> list[tuple[file_problems.Path,
                                      port_forwards.Destination]]:
        one, many = 'dest_addr' in rule, 'dest_addrs' in rule
        if one == many:
            self._flaw(path, file_problems.NOTHING, (
                'has both dest_addr and dest_addrs; keep one of them'
                if one else 'has no destination; name one as dest_addr, '
                'or several as dest_addrs'))
        listed = list(self._items(rule, path, 'dest_addrs'))
        if one:
            listed.append((path + ('dest_addr',), rule['dest_addr']))
        family = ip_text.address(vip).version if vip else 0
        found: list[tuple[file_problems.Path, port_forwards.Destination]] = []
        seen: dict[str, file_problems.Path] = {}
        for where, value in listed:
            address = self._destination(where, value, family, vip)
            if address is None:
                continue
            first = seen.setdefault(address, where)
            if first != where:
                self._flaw(where, address,
                           'this destination is in line '
                           f'{self._document.line(first):d} already '
                           f'({file_problems.where_is(first)}); for a larger '
                           'share use weight')
            found.append((where, port_forwards.Destination(
                address, int(self._get(value, where, 'weight', 1))
                if isinstance(value, dict) else 1)))
        if found and not any(each.weight for _path, each in found):
            self._flaw(path, file_problems.NOTHING,
                       'all its destinations have weight 0, so that no '
                       'client gets any; give one a weight from 1 to '
                       f'{schema.MOST_WEIGHT:d}')
        return found

    def _destination(self, path: file_problems.Path, value: Any, family: int,
                     vip: str | None) -> str | None:
        """Canonical address of one destination, or None with a flaw."""
        if isinstance(value, dict):
            path, value = path + ('addr',), value.get('addr')
        address = self._address(path, value, _as_destination, family)
        if address is not None and address == vip:
            self._flaw(path, value, 'is its own VIP; name an address of '
                       'this node that is no VIP, or of another one')
            return None
        return address

    def _same_masquerade(self, path: file_problems.Path, behind: _Behind,
                         masquerade: bool) -> None:
        """All rules to a destination agree: nftables goes by it alone."""
        first = self._behind.setdefault(behind, (masquerade, path))
        if first[0] != masquerade:
            address, port, proto = behind
            here = 'here' if masquerade else 'elsewhere and not here'
            there = 'not' if masquerade else 'so'
            self._flaw(path, file_problems.NOTHING,
                       f'the destination {address}, {proto} port {port:d}, '
                       f'is masqueraded {here}, and in line '
                       f'{self._document.line(first[1])} '
                       f'({file_problems.where_is(first[1])}) it is {there}; '
                       'the two cannot be told apart behind the translation, '
                       'so make them the same')

    # -- a health check ---------------------------------------------------

    def _check(self, path: file_problems.Path,
               item: Mapping[str, Any]) -> port_forwards.HealthCheck | None:
        check = self._get(item, path, 'health_check')
        path += ('health_check',)
        if not isinstance(check, dict):
            return None
        kind = self._get(check, path, 'type')
        for key in ('path', 'host', 'expect') if kind == 'tcp' else ():
            if key in check:
                self._flaw(path + (key,), check[key], 'is for checks of type '
                           'http; change the type, or remove it')
        interval = self._get(check, path, 'interval',
                             port_forwards.HealthCheck(kind).interval)
        timeout = self._get(check, path, 'timeout', min(_TIMEOUT, interval))
        if timeout > interval:
            self._flaw(path + ('timeout',), timeout,
                       f'is longer than the interval ({interval:g}); make it '
                       'that or less')
        plain: dict[str, Any] = {
            name: self._get(check, path, name)
                 for name in ('rise', 'fall', 'port', 'path', 'host')
                 if self._get(check, path, name) is not None}
        if 'expect' in check:
            plain['statuses'] = tuple(
                self._statuses(where, value)
                for where, value in self._items(check, path, 'expect'))
        return port_forwards.HealthCheck(kind, float(interval), float(timeout),
                                      **plain)

    def _statuses(self, path: file_problems.Path,
                  value: object) -> tuple[int, int]:
        begin, _dash, end = str(value).partition('-')
        first, last = int(begin), int(end or begin)
        if first > last:
            self._flaw(path, value, 'begins after its end; write it as '
                                    f'"{last:d}-{first:d}"')
        return first, last


# -- addresses; an unusable one raises ValueError, with the remedy ----------

def parse_address(text: str) -> ip_text.Address:
    """An IP address as a value.

    :raises ValueError: for another text
    """
    if '/' in text:
        raise ValueError('is no IP address; write it without "/" and what '
                         'follows')
    if '%' in text:
        raise ValueError('has a zone ("%" and what follows), which cannot be '
                         'given here; leave it out, the node finds the '
                         'device by its routes')
    try:
        address = ip_text.address(text.strip())
    except ValueError:
        raise ValueError('is no IP address; write it like 192.0.2.53 or '
                         '2001:db8::53, a name is not looked up') from None
    if address.version == 6 and address.ipv4_mapped:
        raise ValueError('is an IPv4 address in IPv6 notation; write '
                         f'{address.ipv4_mapped}')
    return address


def _as_vip(address: ip_text.Address) -> None:
    """Raise ValueError unless an address can be announced."""
    _anywhere(address)
    if address.is_link_local:
        raise ValueError('is a link-local address, which no router forwards '
                         'to; name an address that can be announced')
    if address.is_loopback:
        raise ValueError('is a loopback address, which no other host can '
                         'reach; name an address that can be announced')


def _as_destination(address: ip_text.Address) -> None:
    """Raise ValueError unless an address can be a destination."""
    _anywhere(address)
    if address.version == 6 and address.is_link_local:
        raise ValueError('is a link-local address, which is nothing without '
                         'the name of a device, and that cannot be given '
                         'here; name a global or unique local one')
    if address.is_loopback:
        raise ValueError('is a loopback address, where the kernel takes '
                         'nothing that came from outside; name another '
                         'address that the service listens on')


def _anywhere(address: ip_text.Address) -> None:
    if address.is_multicast:
        raise ValueError('is a multicast address; name the address of one '
                         'host')
    if address.is_unspecified or any(
            address in network for network in _NOBODY
            if network.version == address.version):
        raise ValueError('is not the address of a host; name one')
