# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Reading the rules file: either all its values, or all its flaws."""

from collections.abc import Iterable
from collections.abc import Iterator
import functools

from oslo_config import cfg

from ovn_network_agent.conf import mode
from ovn_network_agent.conf import relations
from ovn_network_agent.conf.options import veth_leak
from ovn_network_agent.files import file_problems
from ovn_network_agent.files import reading
from ovn_network_agent.forward import checks
from ovn_network_agent.forward import schema
from ovn_network_agent.model import port_forwards

_OPTION = '[port_forward] rules_file'


# A start parses the file twice, for its problems and for its values.
@functools.lru_cache(maxsize=1)
def parse(content: bytes, name: str) -> tuple[port_forwards.Vip, ...]:
    """The VIPs in the content of a rules file.

    :raises file_problems.BadFile: one message for each flaw, in order
    """
    found = reading.parse(content, name)
    wrong = found.flaws
    if found.value is not None or not wrong:
        checker = checks.Checker(found,
                                 reading.check(found, schema.SCHEMA))
        vips = checker.vips()
        wrong = wrong + checker.flaws
    if wrong:
        raise file_problems.BadFile(flaw.say(name) for flaw in sorted(
            wrong, key=lambda flaw: flaw.line))
    return vips


def load(conf: cfg.ConfigOpts) -> tuple[port_forwards.Vip, ...]:
    """The VIPs of the configured rules file, none without a file.

    :raises file_problems.BadFile: when the rules cannot be used
    """
    path = conf.port_forward.rules_file
    if not path:
        return ()
    content = reading.read(path, _OPTION)
    vips = parse(content, path)
    wrong = [*_lacking(content, path, list(mode.lacks(conf, vips))),
             *_our_own(conf, vips), *_no_way_back(conf, vips)]
    if wrong:
        raise file_problems.BadFile(wrong)
    return vips


def _lacking(content: bytes, name: str,
             found: list[tuple[file_problems.Path, str]]) -> Iterator[str]:
    """For the findings of :func:`mode.lacks` in a good document."""
    if not found:
        return
    text = reading.parse(content, name)
    for path, lack in found:
        value = file_problems.NOTHING if len(path) == 1 else True
        yield file_problems.Flaw(text.line(path), path, value, lack).say(name)


def _our_own(conf: cfg.ConfigOpts,
             vips: Iterable[port_forwards.Vip]) -> Iterator[str]:
    """Flaws for VIPs that are addresses of the agent itself."""
    names = {conf.bridge_ip: '[DEFAULT] bridge_ip',
             conf.veth_leak.veth_nexthop: '[veth_leak] veth_nexthop',
             veth_leak.provider_ip(conf): '[veth_leak] veth_provider_ip'}
    for vip in vips:
        if vip.address in names:
            yield (f'{conf.port_forward.rules_file}: VIP {vip.address} is '
                   f'{names[vip.address]} too; choose another one')


def _no_way_back(conf: cfg.ConfigOpts,
                 vips: tuple[port_forwards.Vip, ...]) -> Iterator[str]:
    if vips and conf.frr.vrf_name and not veth_leak.enabled(conf):
        yield relations.say(
            _OPTION, conf.port_forward.rules_file,
            f'forwards {len(vips)} VIPs, and their answers leave [frr] '
            f'vrf_name = {conf.frr.vrf_name} through the veth pair, which is '
            'off; set [veth_leak] veth_leak_enabled to true and have '
            'veth_leak in [DEFAULT] drivers, or remove the rules')


def warnings(conf: cfg.ConfigOpts) -> list[str]:
    """What looks unintended in rules that have no :func:`problems`."""
    path = conf.port_forward.rules_file
    if not path or load(conf):
        return []
    return [relations.say(_OPTION, path,
                          'has no rules, so nothing is forwarded; list VIPs '
                          'as port_forwards there')]


def problems(conf: cfg.ConfigOpts) -> list[str]:
    """Flaws of the rules file that make a start impossible."""
    try:
        load(conf)
    except file_problems.BadFile as error:
        return list(error.messages)
    return []
