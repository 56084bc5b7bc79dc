# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The configuration as in effect, without secrets."""

from typing import Any

from oslo_config import cfg

from ovn_network_agent.conf import masking
from ovn_network_agent.conf import opts
from ovn_network_agent.conf import plugins


def options(conf: cfg.ConfigOpts) -> list[tuple[str, cfg.Opt]]:
    """Section and option of all options that a file may have."""
    found = [*opts.everything(), *opts.others(), *(
        (section, option) for section, options in plugins.options(conf)
        for option in options)]
    # Drivers here declare options once more.
    return list({(section, option.dest): (section, option)
                 for section, option in found}.values())


def shown(conf: cfg.ConfigOpts) -> list[dict[str, Any]]:
    """Each option with its value and its source.

    :returns: ``section``, ``option``, ``value`` as in a file, ``source`` (a
        file, a variable or a default)
    """
    return [{'section': section, 'option': option.dest,
             'value': _value(conf, section, option),
             'source': _source(conf, section, option)}
            for section, option in options(conf)]


def secrets(conf: cfg.ConfigOpts) -> list[str]:
    """The secret parts of all values, the longest first."""
    found = set()
    for section, option in options(conf):
        try:
            value = _section_of(conf, section)[option.dest]
        except (cfg.Error, ValueError):
            continue
        found.update(masking.secrets(option, value))
    return sorted(found, key=len, reverse=True)


def _section_of(conf: cfg.ConfigOpts, section: str) -> Any:
    return conf if section == 'DEFAULT' else conf[section]


def _value(conf: cfg.ConfigOpts, section: str, option: cfg.Opt) -> str:
    try:
        return masking.shown(option, _section_of(conf, section)[option.dest])
    except (cfg.Error, ValueError) as error:
        return f'cannot be used: {masking.mask(str(error))}'


def _source(conf: cfg.ConfigOpts, section: str, option: cfg.Opt) -> str:
    try:
        found = conf.get_location(
            option.dest, None if section == 'DEFAULT' else section)
    except (cfg.Error, ValueError):
        return ''
    if found is None:
        return ''
    detail = f' {found.detail}' if found.detail else ''
    return f'{found.location.name}{detail}'
