# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Values of the original program, in Go, as texts for options here."""

import re

_UNITS = {'ns': 1e-9, 'us': 1e-6, '\u00b5s': 1e-6, '\u03bcs': 1e-6,
          'ms': 1e-3, 's': 1, 'm': 60, 'h': 3600}
# Without the look-behind, a search takes time with the cube of the digits.
_PART = re.compile(r'(?<![\d.])(\d+(?:\.\d*)?|\.\d+)'
                   r'(ns|us|\u00b5s|\u03bcs|ms|s|m|h)')
_TRUE = ('1', 't', 'T', 'TRUE', 'true', 'True')
_FALSE = ('0', 'f', 'F', 'FALSE', 'false', 'False')


def text(value: str | int) -> str:
    """A text, or a number, as it is."""
    return str(value)


def seconds(value: str | int) -> str:
    """A duration, like ``1m30s`` or ``500ms``, as seconds, like '90' or '0.5'.

    :raises ValueError: when the text is no duration of Go
    """
    text = str(value).strip()
    rest = text.removeprefix('+')
    parts = _PART.findall(rest)
    if rest == '0':
        return '0'
    if not parts or ''.join(number + unit for number, unit in parts) != rest:
        raise ValueError(f'{text!r} is not a duration of at least 0; write '
                         'it like 60s, 500ms or 1m30s')
    total = sum(float(number) * _UNITS[unit] for number, unit in parts)
    return f'{total:.9f}'.rstrip('0').rstrip('.')


def boolean(value: str | bool) -> str:
    """'true' or 'false'; ValueError for no boolean of Go."""
    text = str(value).strip()
    if text in _TRUE:
        return 'true'
    if text in _FALSE:
        return 'false'
    raise ValueError(f'{text!r} is not a boolean; use true or false')


def listen(value: str | int) -> str:
    """An address to listen on, whose host may be missing, or localhost."""
    text = str(value).strip()
    host, colon, port = text.rpartition(':')
    if colon and host in ('', 'localhost'):
        return f'{"127.0.0.1" if host else "0.0.0.0"}:{port}'  # noqa: S104
    return text
