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

"""[DEFAULT] log_level; oslo.log itself has only the option debug."""

import logging

_LEVELS = {'debug': logging.DEBUG, 'info': logging.INFO,
           'warn': logging.WARNING, 'error': logging.ERROR}


def apply(conf):
    """Set the level of the root logger; after oslo.log has set it up.

    :param conf: a loaded ConfigOpts
    """
    level = 'debug' if conf.debug else conf.log_level.lower()
    logging.getLogger().setLevel(_LEVELS[level])
