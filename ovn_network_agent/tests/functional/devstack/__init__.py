# Packages of other projects, and a test of the agent with these.
