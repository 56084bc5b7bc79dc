# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""The shape of a rules file; :mod:`forward.checks` compares several values."""

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
