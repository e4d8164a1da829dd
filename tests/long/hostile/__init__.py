"""A stranger with a valid key does what it can to a swarm of real workers; honest ones train on."""
