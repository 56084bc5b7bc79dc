# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""Records of the same length in a row, found without a loop over them.

A dump of thousands of routes or flows has mostly records of one length.  A
step of a slice visits one byte of each of them, in the time of a copy.
"""


def count_equal(data: bytes, start: int, length: int, head: int) -> int:
    """How many records follow each other that begin with the same bytes.

    If the first bytes of a record say its length, the record after it begins
    where it ends.  So all of the counted records are records.

    :param start: offset of the first record, which lies in ``data``
    :param length: bytes of the first record, with any padding
    :param head: how many bytes at the begin of a record are compared; the
        length is among them
    :returns: at least 1
    """
    count = (len(data) - start) // length
    for place in range(start, start + head):
        column = data[place:place + (count - 1) * length + 1:length]
        count -= len(column.lstrip(column[:1]))
    return count
