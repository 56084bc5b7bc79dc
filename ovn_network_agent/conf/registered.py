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

"""The options of the privileged side, which each call needs.

To register options again takes as long as many a call of a daemon, because
oslo.config compares each of them with the known one.
"""

from oslo_config import cfg


def group(options):
    """The values of a group of options, which is registered if need be.

    :param options: module with OPTS and GROUP
    :returns: oslo.config GroupAttr of the process
    """
    # A group may be known without its options.
    if (options.GROUP not in cfg.CONF or
            options.OPTS[-1].dest not in cfg.CONF[options.GROUP]):
        cfg.CONF.register_opts(options.OPTS, group=options.GROUP)
    return cfg.CONF[options.GROUP]
