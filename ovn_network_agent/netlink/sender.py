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



"""The author of a netlink change, as far as the kernel tells it."""


def described(port):
    """The author of a notification.

    The first netlink socket of a process usually has the number of the process
    as its port; the name is a hint and no proof.

    :param port: nlmsg_pid of the notification, 0 when the kernel does not say
    :returns: text such as ' by netlink port 4711 (ip)', '' when not known
    """
    if not port:
        return ''
    try:
        with open(f'/proc/{port:d}/comm', encoding='utf-8',
                  errors='replace') as opened:
            return f' by netlink port {port} ({opened.read().strip()})'
    except OSError:
        # The process has ended, or the port is no number of a process.
        return f' by netlink port {port}'
