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

"""The shape of a rules file: JSON Schema, and its errors in plain words.

Each ``description`` names the right values and is the second half of the
message about a wrong value.  Checks of several values are in
:mod:`ovn_network_agent.forward.checks`.
"""

import functools

from ovn_network_agent.forward import flaws

KEY = 'port_forwards'
# nft would accept more, but a hash over more needs another design.
MOST_BACKENDS = 256
MOST_WEIGHT = 256

_SWITCH = {'type': 'boolean', 'description': 'true or false'}
_PORT = {'type': 'integer', 'minimum': 1, 'maximum': 65535,
         'description': 'a port, a number from 1 to 65535'}
_PORT_OR_SAME = {'type': 'integer', 'minimum': 0, 'maximum': 65535,
                 'description': 'a port, a number from 1 to 65535, or 0 for '
                                'the same as that of the rule'}
_ADDRESS = {'type': 'string', 'description': 'an IP address, in quotes '
                                             'where YAML takes it for '
                                             'something else'}
_COUNT = {'type': 'integer', 'minimum': 1, 'maximum': 100,
          'description': 'how many checks in a row, from 1 to 100'}
_STATUS = {'type': ['integer', 'string'], 'minimum': 100, 'maximum': 599,
           'pattern': '^[1-5][0-9]{2}(-[1-5][0-9]{2})?$',
           'description': 'an HTTP status like 200, or a range like '
                          '"200-299"'}

_HEALTH_CHECK = {
    'type': ['object', 'null'],
    'description': 'a mapping with "type" and more, or null for no check',
    'required': ['type'],
    'additionalProperties': False,
    'properties': {
        'type': {'enum': ['tcp', 'http'], 'description': 'tcp or http'},
        'interval': {'type': 'number', 'minimum': 0.1, 'maximum': 3600,
                     'description': 'seconds, from 0.1 to 3600'},
        'timeout': {'type': 'number', 'minimum': 0.1, 'maximum': 3600,
                    'description': 'seconds, from 0.1 to 3600'},
        'rise': _COUNT,
        'fall': _COUNT,
        'port': {'type': 'integer', 'minimum': 0, 'maximum': 65535,
                 'description': 'a TCP port, a number from 1 to 65535, or '
                                '0 for that of the destination'},
        'path': {'type': 'string', 'pattern': r'^/[!-~]*$',
                 'description': 'a path that begins with "/", without '
                                'blanks; others as %20'},
        'host': {'type': 'string', 'pattern': r'^[A-Za-z0-9._:\[\]-]*$',
                 'description': 'a host name or address, with a port or '
                                'without'},
        'expect': {'type': 'array', 'minItems': 1, 'maxItems': 100,
                   'items': _STATUS,
                   'description': 'a list of one or more statuses, like '
                                  '[200, "300-399"]'}}}

_BACKEND = {
    'type': ['string', 'object'],
    'description': 'an IP address, or a mapping with "addr" and "weight"',
    'required': ['addr'],
    'additionalProperties': False,
    'properties': {
        'addr': _ADDRESS,
        'weight': {'type': 'integer', 'minimum': 0, 'maximum': MOST_WEIGHT,
                   'description': f'a number from 0 to {MOST_WEIGHT}'}}}

_RULE = {
    'type': 'object',
    'description': 'a mapping with "proto", "port" and "dest_addr"',
    'required': ['proto', 'port'],
    'additionalProperties': False,
    'properties': {
        'proto': {'enum': ['tcp', 'udp'], 'description': 'tcp or udp'},
        'port': _PORT,
        'dest_addr': _ADDRESS,
        'dest_addrs': {'type': 'array', 'minItems': 1,
                       'maxItems': MOST_BACKENDS, 'items': _BACKEND,
                       'description': 'a list of 1 to '
                                      f'{MOST_BACKENDS} destinations'},
        'dest_port': _PORT_OR_SAME,
        'masquerade': _SWITCH,
        'health_check': _HEALTH_CHECK}}

_VIP = {
    'type': 'object',
    'description': 'a mapping with "vip" and "rules"',
    'required': ['vip', 'rules'],
    'additionalProperties': False,
    'properties': {
        'vip': _ADDRESS,
        'manage_vip': _SWITCH,
        'masquerade': _SWITCH,
        'hairpin_masquerade': _SWITCH,
        'router_masquerade': _SWITCH,
        'health_check': _HEALTH_CHECK,
        'rules': {'type': 'array', 'minItems': 1, 'items': _RULE,
                  'description': 'a list of one or more rules; a VIP '
                                 'without rules forwards nothing'}}}

SCHEMA = {
    '$schema': 'https://json-schema.org/draft/2020-12/schema',
    'type': ['object', 'null'],
    'description': f'a mapping with the one key "{KEY}"',
    'additionalProperties': False,
    'properties': {
        KEY: {'type': ['array', 'null'], 'items': _VIP,
              'description': 'a list of VIPs'}}}


@functools.cache
def _validator():
    """The validator of :data:`SCHEMA`."""
    # The import takes a seventh of all imports, so a node without rules
    # leaves it out.
    import jsonschema
    return jsonschema.Draft202012Validator(SCHEMA)


def check(document):
    """Compare a document with the schema.

    :param document: :class:`document.Document`
    :returns: list of :class:`flaws.Flaw`
    """
    found = {}
    # A value that could not be read cannot be checked.
    known = {flaw.path for flaw in document.flaws}
    for error in _validator().iter_errors(document.value):
        for flaw in _said(document, error, tuple(error.absolute_path)):
            # A value with several errors is reported once.
            if flaw.path not in known:
                found.setdefault((flaw.path, flaw.line), flaw)
    return list(found.values())


def _said(document, error, path):
    """An error of the library as an iterator of :class:`flaws.Flaw`."""
    if error.validator == 'additionalProperties':
        known = error.schema['properties']
        for key in error.instance.keys() - known.keys():
            yield flaws.Flaw(
                document.line(path + (key,)), path + (key,), flaws.NOTHING,
                f'this key is not known; {_instead(path, key, known)}')
    elif error.validator == 'required':
        missing = [key for key in error.schema['required']
                   if key not in error.instance]
        for key in missing:
            wanted = error.schema['properties'][key]['description']
            yield flaws.Flaw(
                document.line(path), path + (key,), flaws.NOTHING,
                f'is missing; it has to be {wanted}')
    else:
        yield flaws.Flaw(document.line(path), path, error.instance,
                         _wrong(error))


def _instead(path, key, known):
    if not path:
        return (f'this file has the one key "{KEY}", all other options are in '
                'the configuration of the agent')
    return flaws.meant(key, known)


def _wrong(error):
    value, wanted = error.instance, error.schema['description']
    if error.validator == 'maxItems':
        return f'has {len(value)} items; it must be {wanted}'
    if error.validator == 'minItems':
        return f'is empty; it must be {wanted}'
    if value is None:
        return f'is empty; it must be {wanted}'
    if isinstance(value, str) and _would_fit(error):
        return f'is text; it must be {wanted}: remove the quotes'
    if isinstance(value, str) and _is_number(error) and value:
        return f'is no decimal number; it must be {wanted}'
    return f'is not possible; it must be {wanted}'


def _is_number(error):
    return error.validator == 'type' and (
        error.validator_value in ('integer', 'number'))


def _would_fit(error):
    """Whether the value would be right without quotes."""
    text = error.instance
    if error.validator == 'type' and error.validator_value == 'boolean':
        return text.lower() in ('true', 'false', 'yes', 'no', 'on', 'off')
    return _is_number(error) and text.isascii() and text.isdigit() and (
        text == '0' or text[0] != '0')
