"""A TPU put together: what an effect costs a core, a core that walks the steps of its grid, cores that share the memory."""
