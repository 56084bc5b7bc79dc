# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Files that somebody else writes, and texts of the kernel and of programs."""

import contextlib
import json
import os
import re
import tempfile
import types as types_of_python

from ovn_network_agent import ownership
from ovn_network_agent.common import ip_text
from ovn_network_agent.common import networks
from ovn_network_agent.conf import original_options
from ovn_network_agent.conf import types
from ovn_network_agent.conf.options import evpn
from ovn_network_agent.diagnosis.node import configuration
from ovn_network_agent.diagnosis.node.kernel import managers
from ovn_network_agent.diagnosis.readers import agent
from ovn_network_agent.diagnosis.readers import northbound
from ovn_network_agent.files import file_problems
from ovn_network_agent.forward import rules
from ovn_network_agent.metrics import present
from ovn_network_agent.migrate import sources
from ovn_network_agent.netlink.objects import procfs
from ovn_network_agent.nft import rendering
from ovn_network_agent.nft import values
from ovn_network_agent.ovn.egress import egress_file
from ovn_network_agent.ovn.peering import peer_intents
from ovn_network_agent.privileged import overlap_keeper
from ovn_network_agent.privileged import overlap_servers
from ovn_network_agent.runtime.process import single_instance
from ovn_network_agent.tests.fuzz.target import Target

_QUOTED = re.compile(r'"[^"]*"?')
_DEVICES = {f'"{name}"' for name in ownership.VETH_ENDS}


def _text(data):
    return data.decode('utf-8', 'replace')


def _rules(data):
    """From the file to the values that the drivers get."""
    rules.parse.cache_clear()
    hash(rules.parse(data, 'rules.yaml'))


def _peers(data):
    """From the file to the rows that the source of peerings reads."""
    peer_intents.parse.cache_clear()
    found = peer_intents.parse(data, 'peers.yaml')
    assert len(found.rows) % 2 == 0
    for end in found.rows.values():
        assert not peer_intents.name_objection(end.name)
        assert not end.intent.problem


def _egress(data):
    """From the file to the rows that the source of egress addresses reads."""
    egress_file.parse.cache_clear()
    found = egress_file.parse(data, 'egress.yaml').rows
    addresses = [each for entry in found.values() for each in entry.addresses]
    assert addresses == [*dict.fromkeys(map(ip_text.canonical, addresses))]
    for entry in found.values():
        assert entry.select is None or entry.select != egress_file.Select()


def _table(data):
    """What the root side takes as a table is one that nft can load."""
    table = values.unpack(_tuples(json.loads(data)))
    assert values.unpack(values.pack(table)) == table
    text = rendering.text(table)
    assert set(_QUOTED.findall(text)) <= _DEVICES, text
    assert text.count('{') == text.count('}'), text


def _tuples(value):
    if isinstance(value, list):
        return tuple(map(_tuples, value))
    return value


def _migrated(data):
    sources.from_environment(data, 'environment')
    sources.from_yaml(data, 'config.yaml')
    sources.from_flags(_text(data).split('\n'))


def _kernel(data):
    present.veth_counters(_text(data))
    words = _text(data).split('\0')
    agent.is_agent(words)
    managers.assigned(_text(data))
    managers.managed_devices(_text(data))
    procfs.parsed('1024\n', _text(data))
    with _file(data) as path:
        single_instance.is_executable(path)
        single_instance._starts(path)


@contextlib.contextmanager
def _file(data):
    path = os.path.join(tempfile.gettempdir(), 'file')
    with open(path, 'wb') as opened:
        opened.write(data)
    yield path


def _addresses(data):
    text = _text(data)
    for parse in (ip_text.address, ip_text.network, ip_text.interface):
        try:
            found = parse(text)
        except ValueError:
            continue
        assert '%' not in str(found)
        assert parse(str(found)) == found
    networks.parse_interface(text)
    networks.translated(text)
    northbound.covers(text, ip_text.address('198.51.100.10'))
    northbound.addresses(types_of_python.SimpleNamespace(
        addresses=[text], external_ids={}, options={}))


def _options(data):
    text = _text(data)
    for parse in (types.OvsdbRemote(), types.ListenAddress(),
                  types.Command(), types.Name(),
                  types.CommaList(types.Name()), types.NamedTag(),
                  evpn.NamedVni(),
                  types.Uuid(),
                  original_options.seconds, original_options.listen):
        with contextlib.suppress(ValueError):
            parse(text)
    with contextlib.suppress(overlap_servers.Failed):
        overlap_keeper.respelled(text)
    configuration.numbers(text)


TARGETS = (
    Target('forward.rules', _rules, (file_problems.BadFile,),
           ('forward.rules', 'files.reading', 'files.document',
            'files.reading', 'forward.checks', 'forward.schema'), words=(
               b'port_forwards:\n', b'- vip: ', b'  rules:\n', b'- ', b': ',
               b'&a ', b'*a', b'<<: ', b'!!', b'[', b'{', b'\n  ', b'|\n',
               b'proto: tcp', b'port: ', b'dest_addrs:', b'198.51.100.9',
               b'"', b'masquerade: true', b'? ', b'%YAML 1.1\n---\n')),
    Target('ovn.peering.peer_intents', _peers, (file_problems.BadFile,),
           ('ovn.peering.peer_intents', 'files.reading'), words=(
               b'network_peers:\n', b'- name: ', b'  routers:\n', b'- ',
               b': ', b'  routers: [a, b]', b'{router: ', b', export: [',
               b', import: [', b'10.0.0.0/8', b'2001:db8::/32', b']}', b'"',
               b'&a ', b'*a', b'<<: ', b'\n  ')),
    Target('ovn.egress.egress_file', _egress, (file_problems.BadFile,),
           ('ovn.egress.egress_file', 'files.reading'), words=(
               b'egress_ips:\n', b'- name: ', b'  addresses: [', b'- ',
               b'198.51.100.1', b'2001:db8::1', b'], ', b': ', b'select: {',
               b'router: r1', b'cidrs: [', b'subnet: ', b'mode: ecmp',
               b'security_group: ', b'gateways: [', b'destinations: [',
               b'10.0.0.0/8', b']}', b'"', b'\n  ')),
    Target('nft.table', _table, (ValueError, RecursionError),
           ('nft.values', 'nft.rendering'), json=True,
           values=('tcp', 'udp', 'ip', 'ip6', 64000, '192.0.2.53')),
    Target('migrate.files', _migrated, (),
           ('migrate.sources',),
           words=(b'OVN_NETWORK_', b'=', b'--', b'\n', b'\\\n', b': ')),
    Target('kernel.texts', _kernel, (),
           ('metrics.present', 'runtime.process.single_instance',
            'diagnosis.readers.agent', 'diagnosis.node.kernel.managers',
            'netlink.objects.procfs'),
           words=(b'veth-default:', b'veth-provider:', b' 1', b'\n',
                  b'ExecStart=', b'ovn-network-agent', b'\0', b'-m\0',
                  b'\x7fELF', b'--dry-run', b'[Network]\n',
                  b'ManageForeignRoutes=no\n', b'br-ex:connected\n',
                  b'entries ', b'table_fulls\n', b'00000001 ')),
    Target('addresses', _addresses, (),
           ('common.ip_text', 'common.networks',
            'diagnosis.readers.northbound'),
           words=(b'198.51.100.10', b'/32', b'2001:db8::', b'::ffff:',
                  b'%eth0', b'/', b'.', b':')),
    Target('options', _options, (),
           ('conf.options.evpn', 'conf.types', 'conf.original_options',
            'diagnosis.node.configuration', 'privileged.overlap_keeper'),
           words=(b'tcp:', b'ssl:', b'unix:/', b'127.0.0.1', b':6641', b'[',
                  b']', b'1h', b'30s', b'ms')),
)
