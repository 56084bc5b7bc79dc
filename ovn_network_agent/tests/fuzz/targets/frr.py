# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What nft and FRR print, and what FRR's daemons say on their sockets."""

import contextlib
import os

from oslo_config import cfg

from ovn_network_agent import privileged
from ovn_network_agent.conf.options import frr as options
from ovn_network_agent.diagnosis import readers
from ovn_network_agent.diagnosis.readers import frr as reader
from ovn_network_agent.frr import advertisement
from ovn_network_agent.frr import effect
from ovn_network_agent.frr import evpn
from ovn_network_agent.frr import evpn_steps
from ovn_network_agent.frr import filters
from ovn_network_agent.frr import lines
from ovn_network_agent.frr import output
from ovn_network_agent.frr import setup
from ovn_network_agent.nft import egress
from ovn_network_agent.nft import filters as nft_filters
from ovn_network_agent.nft import listing
from ovn_network_agent.privileged.limits import limits
from ovn_network_agent.privileged.routing import bgp
from ovn_network_agent.privileged.routing import evpn_instances
from ovn_network_agent.privileged.routing import monitors
from ovn_network_agent.privileged.routing import prefix_lists
from ovn_network_agent.privileged.routing import router_advertisements
from ovn_network_agent.privileged.routing import vtysh
from ovn_network_agent.tests import configs
from ovn_network_agent.tests.fuzz import peers
from ovn_network_agent.tests.fuzz.target import Target

_VRF = 'vrf-provider'
_LIST = 'ANNOUNCED-NETWORKS'
_PREFIX = '198.51.100.10/32'
# Most commands of one session here.
_COMMANDS = 20
_DAEMONS = ('zebra', 'bgpd', 'staticd')
_KEYS = ('paths', 'prefix', 'peers', 'state', 'pfxRcd', 'selected',
         'installed', 'protocol', 'connected', 'static', 'sourced',
         'bestpath', 'overall', 'advertisedTo', 'entries', 'nexthops', _LIST,
         'vrfs', 'vni', 'routerMac', _PREFIX, 'sequenceNumber', 'rules',
         'Established')


def _text(data):
    return data.decode('utf-8', 'replace')


def _documents(data):
    """All that parses a stream of documents."""
    text = _text(data)
    found = effect.Found({}, {})
    for parse in (
            output.known_routes, found.take, effect.received,
            lambda t: effect.peers(t, 'ipv4'),
            lambda t: output.prefix_list(t, _LIST), evpn.states,
            lambda t: _around(effect.surroundings(t, True), found)):
        with contextlib.suppress(output.Unreadable):
            parse(text)


def _around(fields, found):
    around = effect.Surroundings(**fields)
    fault = effect.problem(_PREFIX, 'static', found, True)
    if fault:
        effect.reasons({_PREFIX: fault}, {_PREFIX: 'static'}, around, _VRF,
                       '10.0.0.1')


def _configuration(data):
    text = _text(data)
    for dev, found in advertisement.read(text.split('\n')).items():
        with contextlib.suppress(ValueError):
            advertisement.removed(dev, found)
    _vnis(text.split('\n'))
    for vrf in ('', _VRF):
        with contextlib.suppress(output.Unreadable):
            setup.faults(setup.read(text, vrf, _LIST), vrf, 'static', _LIST)
        with contextlib.suppress(output.Unreadable):
            daemons, shown = output.split(text)
            any(map(output.is_version, shown))
            vtysh.require(daemons | {'mgmtd', 'zebra', 'staticd'},
                          *output.holders(shown))
            for prefix, _rest in output.static_routes(shown, vrf):
                with contextlib.suppress(ValueError):
                    lines.check_host(prefix)


def _vnis(shown):
    """What there is of VNIs, and what may be done about it."""
    for vni, found in evpn.read(shown).items():
        value = evpn.value(vni, found)
        evpn_steps.removed(vni, found)
        with contextlib.suppress(ValueError):
            evpn_steps.added(value[0] if value else evpn.Wanted(
                vni, evpn.underlay(shown, ''), '192.0.2.1', '', [], []), found)
    evpn.lacks(shown, _VRF)
    evpn.left_interfaces(shown, ())


@contextlib.contextmanager
def _node():
    """FRR's daemons are peers, and a configuration names their directory.

    No program is found: vtysh would reach the FRR of this machine.
    """
    os.environ['PATH'] = peers.directory()
    cfg.CONF([], project='none', default_config_files=[],
             default_config_dirs=[], use_env=False)
    cfg.CONF.register_opts(options.OPTS, group=options.GROUP)
    cfg.CONF.set_override('frr_run_dir', peers.directory(), 'frr')
    cfg.CONF.set_override('vtysh_timeout', 1, 'frr')
    for context in privileged.CONTEXTS:
        context.set_client_mode(False)
    limits.fix(configs.conf(frr__vrf_name=_VRF, frr__frr_prefix_list=_LIST))
    yield


def _daemons(data, *questions):
    """Ask with each function; its errors are the documented ones."""
    # A session has several commands, unless the first answer has no end.
    times = _COMMANDS if data[-4:-1] == b'\0\0\0' else 1
    for daemon in _DAEMONS:
        peers.peer(daemon + '.vty', b'\0').answers = [data] * times
    for question in questions:
        with contextlib.suppress(OSError, readers.Unread):
            question()


def _readers(data):
    neighbour = reader.Neighbour('192.0.2.1', 'Established')
    _daemons(data + b'\0\0\0\0',
             lambda: reader.read_zebra(_VRF, _PREFIX),
             lambda: reader.read_lists(_LIST),
             lambda: reader.read_neighbours(_VRF),
             lambda: reader.read_path(_VRF, _PREFIX),
             lambda: reader.read_filters(_VRF, neighbour),
             lambda: reader.read_timers(_VRF),
             lambda: reader.read_next_hops(_VRF),
             lambda: _denials(reader.read_outbound(_VRF, _LIST)),
             lambda: _denials(reader.Outbound((), filters.Filters(
                 _LIST, {}, {'m': reader.read_map('m')}))))


def _denials(outbound):
    address = lines.check_host(_PREFIX)
    for kind, names in ((filters.LIST, outbound.filters.lists),
                        (filters.MAP, outbound.filters.maps)):
        for name in names:
            with contextlib.suppress(filters.Undecided):
                outbound.filters.denial(kind, name, address)


def _privileged(data):
    _daemons(
        data, lambda: bgp.read_sessions(_VRF, ['bgpd']),
        lambda: bgp.read_peers(_VRF), lambda: bgp.read_effect_digest(_VRF),
        lambda: vtysh.read_static(_VRF),
        lambda: vtysh.read_static_again(_VRF, ''),
        lambda: prefix_lists.read(_LIST),
        lambda: prefix_lists.read_of(_LIST, ['198.51.100.0/24']),
        lambda: monitors.list_digests(_LIST, True), router_advertisements.read,
        evpn_instances.read, lambda: monitors.vni_digests('', True),
        lambda: prefix_lists.change(_LIST, [], [['198.51.100.0/24', 32, 32]]),
        lambda: vtysh.change_static(_VRF, [], [[_PREFIX, '169.254.0.1']]))


TARGETS = (
    Target('nft.listing', lambda data: listing.parse(_text(data)),
           (listing.Unreadable,), ('nft.listing', 'nft.elements'), json=True,
           values=('nftables', 'elem', 'concat', 'prefix', 'comment', 'set',
                   'rule', 'chain')),
    Target('nft.egress', lambda data: egress.parse(_text(data)),
           (listing.Unreadable,), ('nft.egress',), json=True,
           values=('nftables', 'elem', 'concat', 'comment', 'set', 'map',
                   'machines', 'addresses')),
    Target('nft.filters', lambda data: nft_filters.parse(_text(data)),
           (listing.Unreadable,), ('nft.filters',), json=True,
           values=('nftables', 'elem', 'prefix', 'range', 'set', 'map', 'rule',
                   'chain', 'vmap', 'drop', 'jump', 'target')),
    Target('frr.documents', _documents, (),
           ('frr.output', 'frr.effect', 'frr.evpn'), json=True, values=_KEYS),
    Target('frr.configuration', _configuration, (),
           ('frr.output', 'frr.setup', 'frr.lines', 'frr.advertisement',
            'frr.evpn', 'frr.evpn_steps'),
           words=(b'router bgp ', b' vrf ', b'redistribute ', b'neighbor ',
                  b'route-map ', b'\n', b' ', b'ip route ', b'vrf ', b'end\n',
                  b'Building configuration...\n', b'call ', b'\n!\n',
                  b'Current configuration:\n', b'frr version ',
                  b'address-family ipv4 unicast', b'bgp listen', b'bfd',
                  b'vrf-1001', b'vni 1001', b'address-family l2vpn evpn',
                  b'timers bgp 44 132', b'route-target import 1:1',
                  b'rd 1:1')),
    Target('frr.readers', _readers, (),
           ('diagnosis.readers.frr',
            'frr.filters'), json=True, values=_KEYS, world=_node, share=0.3),
    Target('frr.sockets', _privileged, (),
           ('frr.session', 'privileged.routing.vtysh',
            'privileged.routing.vty', 'privileged.routing.vtysh'), words=(
               b'\0\0\0\0', b'\0\0\0\1', b'{', b'}', b'"' + _LIST.encode(),
               b'frr version 8', f'vrf {_VRF}\n ip route '.encode()),
           world=_node, share=0.1),
)
