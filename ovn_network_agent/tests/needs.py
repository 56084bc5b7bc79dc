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
