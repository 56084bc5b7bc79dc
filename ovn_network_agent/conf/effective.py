# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers


"""The configuration as in effect, without secrets.

A password is in a URL, or behind a word such as "password".  The path of a key
is none.
"""

from collections.abc import Iterable
import re
from typing import Any

from oslo_config import cfg

from ovn_network_agent.conf import opts
from ovn_network_agent.conf import plugins

MASK = '***'
_SHORTEST = 4  # least characters of a secret to look for in other texts
_WORDS = r'pass(?:word|wd|phrase)?|secret|token|api[_-]?key|credentials?'
# What comes before the "@" of anything like a URL.
_USER = re.compile(
    r'(?P<start>\b[a-z][a-z0-9+.-]*:(?://)?)(?P<user>[^\s/@,]+)@',
    re.IGNORECASE)
_NAMED = re.compile(
    rf'(?P<name>(?:[\w-]*[-_])?(?:{_WORDS})(?:[-_]\w+)?)(?P<sign>["\']?\s*'
    r'[=:]\s*|\s+)(?P<value>"[^"]*"|\'[^\']*\'|[^\s,;&]+)', re.IGNORECASE)
_KEY = re.compile(
    r'-----BEGIN (?P<what>[A-Z0-9 ]*PRIVATE KEY)-----.*?'
    r'(?:-----END (?P=what)-----|\Z)', re.DOTALL)
_SECRET_NAME = re.compile(rf'(?:^|_)(?:{_WORDS})(?:_|$)', re.IGNORECASE)


def mask(text: str) -> str:
    """A text with the secrets in it replaced by :data:`MASK`."""
    text = _KEY.sub(MASK, text)
    text = _USER.sub(rf'\g<start>{MASK}@', text)
    return _NAMED.sub(rf'\g<name>\g<sign>{MASK}', text)


def masked(option: cfg.Opt, value: object) -> str:
    """The value of an option as in a file, without secrets."""
    if value in (None, ''):
        return ''
    return MASK if _is_secret(option) else mask(_text(value))


def secrets_in(option: cfg.Opt, value: object) -> list[str]:
    """The secret parts of an option's value, none too short to be told."""
    text = '' if value is None else _text(value)
    found = [text] if _is_secret(option) else [
        match['user'].rpartition(':')[2] for match in _USER.finditer(text)] + [
        match['value'].strip('"\'') for match in _NAMED.finditer(text)]
    return [each for each in found if len(each) >= _SHORTEST]


def everywhere(value: Any, known: Iterable[str] = ()) -> Any:
    """JSON values with the secrets in all texts replaced by :data:`MASK`.

    :param known: secrets that no pattern finds, the longest first
    """
    if isinstance(value, dict):
        return {key: everywhere(each, known) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [everywhere(each, known) for each in value]
    if not isinstance(value, str):
        return value
    for secret in known:
        value = value.replace(secret, MASK)
    return mask(value)


def _is_secret(option: cfg.Opt) -> bool:
    return option.secret or bool(_SECRET_NAME.search(option.dest))


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        value = ','.join(str(each) for each in value)
    elif isinstance(value, dict):
        value = ','.join(f'{key}:{each}' for key, each in value.items())
    elif isinstance(value, bool):
        value = str(value).lower()
    return str(value)


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
        found.update(secrets_in(option, value))
    return sorted(found, key=len, reverse=True)


def _section_of(conf: cfg.ConfigOpts, section: str) -> Any:
    return conf if section == 'DEFAULT' else conf[section]


def _value(conf: cfg.ConfigOpts, section: str, option: cfg.Opt) -> str:
    try:
        return masked(option, _section_of(conf, section)[option.dest])
    except (cfg.Error, ValueError) as error:
        return f'cannot be used: {mask(str(error))}'


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
