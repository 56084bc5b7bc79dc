# The devstack plugin, outside of a devstack.
