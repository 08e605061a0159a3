"""triton.tools: descriptors that the host makes."""
