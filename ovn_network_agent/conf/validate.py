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

"""Checks that one option's type cannot do, and what is worth a warning.

Each problem is one text with the option, its value and the remedy.  All of
them are reported at once: an operator does not want to find them one start
at a time.
"""

import difflib
import ipaddress
import os
import re

from oslo_config import cfg

from ovn_network_agent.conf import opts
from ovn_network_agent.conf import tls
from ovn_network_agent.conf import veth_leak

_OSLO_ERROR = re.compile(
    r"Value for option \S+ from LocationInfo\(.*?detail='(?P<source>.*?)'\) "
    r"is not valid: (?P<reason>.*)", re.DOTALL)
# Where the kernel puts its rule for VRFs, and it cannot be told otherwise.
_L3MDEV_PRIORITY = 1000
# Sections that libraries register when they are used, which may be never.
_LIBRARY_GROUPS = re.compile(r'oslo_\w+|privsep\w*|profiler')


class ConfigError(Exception):
    """The configuration cannot be used.

    :param messages: iterable of str, see :func:`problems`
    """

    def __init__(self, messages):
        self.messages = tuple(messages)
        super().__init__('\n'.join(self.messages))


def check(conf):
    """Raise :class:`ConfigError` unless the configuration can be used."""
    messages = problems(conf)
    if messages:
        raise ConfigError(messages)


def problems(conf):
    """Everything that makes a start impossible.

    :param conf: a loaded ConfigOpts
    :returns: list of str, each "option = value: what is wrong; remedy"
    """
    messages = list(_bad_values(conf))
    if messages:
        # The checks below need values that can be read.
        return messages
    for rule in (_drivers, _remotes, tls.problems, _tables, _priorities,
                 _pair):
        messages.extend(rule(conf))
    return messages


def _say(option, value, text):
    if isinstance(value, list | tuple):
        value = ','.join(value)
    return '%s = %s: %s' % (option, value, text)


def _bad_values(conf):
    for group, opt in opts.everything():
        try:
            conf[opt.dest] if group == 'DEFAULT' else conf[group][opt.dest]
        except (cfg.Error, ValueError) as error:
            match = _OSLO_ERROR.search(str(error))
            reason = match['reason'] if match else str(error)
            source = match['source'] if match else 'command line'
            yield '[%s] %s: %s (from %s)' % (group, opt.dest, reason, source)


def _drivers(conf):
    if not conf.drivers:
        yield _say('[DEFAULT] drivers', conf.drivers,
                   'there is nothing to do; name at least one driver, like '
                   'fip_route,veth_leak')
    twice = sorted({d for d in conf.drivers if conf.drivers.count(d) > 1})
    if twice:
        yield _say('[DEFAULT] drivers', conf.drivers,
                   'names %s more than once; name each driver once' %
                   ', '.join(twice))


def _schemes(remotes):
    return {remote.partition(':')[0] for remote in remotes}


def _remotes(conf):
    for name in ('ovn_nb_remote', 'ovn_sb_remote'):
        remotes = conf.ovn[name]
        if not remotes:
            yield ('[ovn] %s is not set; set it to the remotes of the '
                   'database, like tcp:192.0.2.1:%s: as %s in section [ovn] '
                   'of the file, or in the environment as %s' %
                   (name, '6641' if name == 'ovn_nb_remote' else '6642',
                    name, opts.env_name('ovn', name)))
        if {'tcp', 'ssl'} <= _schemes(remotes):
            yield _say('[ovn] ' + name, remotes,
                       'mixes tcp and ssl, so that a failover would drop '
                       'the encryption; use one of them for all')


def _tables(conf):
    table = conf.veth_leak.veth_leak_table_id
    if veth_leak.enabled(conf) and conf.fip_route.route_table_id == table:
        yield _say('[veth_leak] veth_leak_table_id', str(table),
                   'is [fip_route] route_table_id too; choose another one '
                   'between 1 and 252')


def _priorities(conf):
    if not conf.fip_route.route_table_id or not veth_leak.enabled(conf):
        return
    first = conf.veth_leak.veth_leak_rule_priority - 3
    if conf.fip_route.route_rule_priority >= first:
        yield _say('[fip_route] route_rule_priority',
                   str(conf.fip_route.route_rule_priority),
                   'does not come before the rules of the veth leak, which '
                   'begin at %d, so what arrives there would never find its '
                   'route; choose a lower number' % first)


def _pair(conf):
    if not veth_leak.enabled(conf):
        return
    nexthop = ipaddress.ip_interface(conf.veth_leak.veth_nexthop + '/30')
    provider = veth_leak.provider_ip(conf)
    hosts = [str(host) for host in nexthop.network.hosts()]
    if sorted(hosts) != sorted([str(nexthop.ip), provider]):
        yield ('[veth_leak] veth_nexthop = %s, veth_provider_ip = %s: these '
               'are not the two hosts of one /30; in this one they are %s '
               'and %s' % (nexthop.ip, conf.veth_leak.veth_provider_ip or
                           '%s (computed)' % provider, *hosts))
    networks = [conf.bridge_ip] if conf.bridge_ip else []
    for other in networks + conf.network_cidr:
        if nexthop.network.overlaps(ipaddress.ip_network(other)):
            yield _say('[veth_leak] veth_nexthop', str(nexthop.ip),
                       'its /30 overlaps %s (%s); use another link-local '
                       '/30' % (other, '[DEFAULT] bridge_ip'
                                if other == conf.bridge_ip
                                else '[DEFAULT] network_cidr'))


def warnings(conf):
    """What looks unintended but does not prevent a start.

    :param conf: a ConfigOpts without :func:`problems`
    :returns: list of str
    """
    return [*tls.warnings(conf), *_odd_leak(conf), *unknown_keys(conf)]


def _odd_leak(conf):
    if (conf.frr.vrf_name and 'fip_route' in conf.drivers and
            'veth_leak' not in conf.drivers):
        yield _say('[DEFAULT] drivers', conf.drivers,
                   'without veth_leak somebody else has to make the way '
                   'from VRF %s to the provider bridge, with %s as next hop'
                   % (conf.frr.vrf_name, conf.veth_leak.veth_nexthop))
    priority = conf.veth_leak.veth_leak_rule_priority
    if veth_leak.enabled(conf) and priority - 3 <= _L3MDEV_PRIORITY:
        yield _say('[veth_leak] veth_leak_rule_priority', str(priority),
                   'the rules of the leak do not come after the kernel\'s '
                   'rule for VRFs (%d), so what is in the VRF already may '
                   'be sent through the pair again' % _L3MDEV_PRIORITY)


def unknown_keys(conf):
    """Sections and options in the files that nothing registered.

    Call it after the drivers and libraries have registered theirs.

    :returns: list of str, one for each section or option
    """
    known = {name: conf[name] for name in conf}
    groups = {name: set(value) for name, value in known.items()
              if isinstance(value, cfg.ConfigOpts.GroupAttr)}
    groups['DEFAULT'] = set(known)
    messages = []
    for path in _files(conf):
        sections = {}
        cfg.ConfigParser(path, sections).parse()
        for section, keys in sorted(sections.items()):
            messages.extend(_unknown_in(groups, path, section, keys))
    return messages


def _files(conf):
    files = list(conf.config_file or [])
    for directory in conf.config_dir or []:
        if os.path.isdir(directory):
            files.extend(os.path.join(directory, name)
                         for name in sorted(os.listdir(directory))
                         if name.endswith('.conf'))
    return files


def _unknown_in(groups, path, section, keys):
    if section not in groups:
        if not _LIBRARY_GROUPS.fullmatch(section):
            yield '%s: unknown section [%s]%s' % (
                path, section, _meant(section, groups))
        return
    for key in sorted(keys):
        if key.replace('-', '_') not in groups[section]:
            yield '%s: unknown option %s in section [%s]%s' % (
                path, key, section, _meant(key, groups[section]))


def _meant(name, known):
    close = difflib.get_close_matches(name, known, n=1)
    return '; did you mean %s?' % close[0] if close else ''
