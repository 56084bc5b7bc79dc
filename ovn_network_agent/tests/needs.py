# SPDX-License-Identifier: Apache-2.0
# Copyright ovn-network-agent developers

"""What a class of tests needs; without it its tests fail.

They do not skip: a component that is missing would go unnoticed.
``tools/test`` installs everything and runs each tier where it belongs.
"""


def needs(present, reason):
    """Class decorator: fail with ``reason`` unless ``present``.

    :param present: whether it is there
    :param reason: text, what is needed
    """
    def decorate(cls):
        if not present:
            def fail(_cls):
                raise AssertionError(f'{reason}: run tools/test')

            cls.setUpClass = classmethod(fail)
        return cls

    return decorate
