# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Records of the same length in a row, found without a loop over them.

A dump of thousands of routes or flows has mostly such records.  A step of a
slice visits one byte of each, in the time of a copy.
"""


def count_equal(data: bytes, start: int, length: int, head: int) -> int:
    """How many records follow each other that begin with the same bytes.

    The first bytes say the length, so a record begins where the one before
    ends, and all that are counted are records.

    :param start: offset of the first record, which lies in ``data``
    :param length: bytes of the first record, with any padding
    :param head: bytes at the begin of a record to compare, with the length
    :returns: at least 1
    """
    count = (len(data) - start) // length
    for place in range(start, start + head):
        column = data[place:place + (count - 1) * length + 1:length]
        count -= len(column.lstrip(column[:1]))
    return count
