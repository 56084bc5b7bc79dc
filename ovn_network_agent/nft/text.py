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

"""What the root side lets a table be: its text, checked before nft sees it.

nft's language can read files, and change the tables of others.  So a text is
taken only when it is a series of chains and sets and all its words are known:
then nothing in it ends the table early, and nothing in it is a command.  Sets
are declared in it, and hold nothing.

By set operations on the whole text and not by a parser: a map with many
buckets for each of 1,000 VIPs has some MB.
"""

import re

from ovn_network_agent import iptext
from ovn_network_agent import ownership

# 1,000 VIPs with two rules of 256 buckets each come to 15 MB.
LIMIT = 64 * 1024 * 1024

# Everything that a rule, chain or set of ours may say.
VOCABULARY = frozenset('''
accept addr and bytes chain constant continue counter ct daddr destination
destination-unreachable dir direction dnat dport drop dst dstnat dynamic
established filter flags forward fragment goto hook icmp icmpv6 ifname iif
iifname inet_proto inet_service input interval invalid ip ip6 ipv4_addr
ipv6_addr jhash jump l3proto l4proto length mangle map mark masquerade meta
mod nat new nexthdr nfproto numgen offset oif oifname or original output
packet-too-big packets parameter-problem persistent policy postrouting
prerouting priority proto-dst proto-src protocol random raw related reply
return route saddr seed set size snat sport src srcnat state status tcp th
time-exceeded timeout to type typeof udp untracked verdict vmap xor zone
'''.split()) | {'.', ':', '-', '+', '==', '!=', '<=', '>=', '<', '>'}
# Type, hook and priority of our base chains, all of which let pass what no
# rule of theirs is about.
_HOOKS = frozenset((
    ('filter', 'prerouting', 'raw'), ('filter', 'prerouting', 'filter'),
    ('filter', 'output', 'raw'), ('filter', 'forward', 'filter'),
    ('filter', 'postrouting', 'filter'), ('route', 'output', 'filter'),
    ('nat', 'prerouting', 'dstnat'), ('nat', 'postrouting', 'srcnat')))
_BASE = re.compile(r'type (\w+) hook (\w+) priority (\w+); policy accept;')
_BASE_WORD = re.compile(r'\b(?:hook|policy)\b')
# What stands between two words without being one.
_BETWEEN = str.maketrans(dict.fromkeys('{},;()=!<>&|', ' '))
_CHARACTERS = re.compile(r'[\n\t A-Za-z0-9_.:@/{},;()=!<>&|"+*-]*')
_QUOTED = re.compile(r'"([^"\n]*)"')
# Takes the place of a string that was looked at.
_ANY_STRING = '_'
_STRING = re.compile(r'[A-Za-z0-9 _.:,/@+-]{0,64}')
_NUMBER = re.compile(r'-?[0-9]{1,10}(-[0-9]{1,10})?|0x[0-9a-f]{1,8}')
_NAME = r'[a-z][a-z0-9_]{0,62}'
_BLOCK = re.compile(rf'\s*(chain|set) ({_NAME})\s*')
_SET = re.compile(rf'^\s*set ({_NAME})\s*\{{', re.MULTILINE)
_CHAIN = re.compile(rf'^\s*chain ({_NAME})\s*\{{', re.MULTILINE)
_REFERENCE = re.compile(rf'@({_NAME})')
_BRACE = re.compile(r'[{}]')


def is_name(name):
    """Whether this can be the name of a chain or set of ours."""
    return isinstance(name, str) and bool(re.fullmatch(_NAME, name))


class Refused(ValueError):
    """The text is not taken.

    :param reason: text: what is wrong
    """


def sets(text):
    """Names of the sets that a table has, a frozenset.

    :param text: what is between its braces
    """
    return frozenset((ownership.NFT_PREFIXES, ownership.NFT_TARGETS,
                      ownership.NFT_LEAVING, *_SET.findall(text)))


def chains(text):
    """Likewise of the chains, those included that every table has."""
    return frozenset((ownership.NFT_LOADED, *_CHAIN.findall(text)))


def check(text):
    """What stands in a table of ours.

    :param text: what is between its braces
    :returns: frozenset of the names of its sets
    :raises Refused: when there is anything else in it
    """
    if not isinstance(text, str) or len(text) > LIMIT:
        raise Refused(f'no text of at most {LIMIT} characters')
    if not _CHARACTERS.fullmatch(text):
        raise Refused('characters that no table of ours has')
    for string in set(_QUOTED.findall(text)):
        if not _STRING.fullmatch(string):
            raise Refused(f'a string that no table of ours has: {string!r}')
    bare = _QUOTED.sub(f' {_ANY_STRING} ', text)
    if '"' in bare:
        raise Refused('a string without an end')
    blocks = _blocks(bare)
    _check_words(bare, {name for _kind, name in blocks})
    _check_hooks(bare)
    return frozenset(name for kind, name in blocks if kind == 'set')


def _blocks(bare):
    """(kind, name) of the blocks that a table consists of.

    :raises Refused: when there is anything between them
    """
    blocks = []
    depth = 0
    end = 0
    for brace in _BRACE.finditer(bare):
        at = brace.start()
        if brace.group() == '{':
            if not depth:
                match = _BLOCK.fullmatch(bare, end, at)
                if match is None:
                    raise Refused(f'neither chain nor set: '
                                  f'{bare[end:at].strip()[:60]!r}')
                blocks.append(match.groups())
            depth += 1
        else:
            depth -= 1
        if depth < 0:
            raise Refused('it ends before its end')
        end = brace.end()
    if depth or bare[end:].strip():
        raise Refused('something is left open, or after the last block')
    names = [name for _kind, name in blocks]
    taken = {ownership.NFT_LOADED, ownership.NFT_TARGETS,
             ownership.NFT_LEAVING, ownership.NFT_PREFIXES} & set(names)
    if taken or len(names) != len(set(names)):
        raise Refused(f'a name is used twice: {sorted(taken or names)}')
    return blocks


def _check_words(bare, names):
    """That a table consists of nothing but what it may say.

    :raises Refused: when it does not
    """
    words = set(bare.translate(_BETWEEN).split())
    for word in words - VOCABULARY - names - {_ANY_STRING}:
        match = _REFERENCE.fullmatch(word)
        if not (match and match[1] in names or _NUMBER.fullmatch(word)
                or _is_address(word)):
            raise Refused(f'a word that no table of ours has: {word[:60]!r}')


def _check_hooks(bare):
    """That nothing is hooked in where no chain of ours is.

    :raises Refused: when there is
    """
    bases = _BASE.findall(bare)
    other = set(bases) - _HOOKS
    if other or len(_BASE_WORD.findall(bare)) != 2 * len(bases):
        raise Refused('a base chain that no table of ours has: %s' % (
            sorted(other) or 'other words'))


def _is_address(word):
    try:
        iptext.interface(word)
    except ValueError:
        return False
    return True
