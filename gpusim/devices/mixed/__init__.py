"""One SM whose CTAs mix matrix products with work on their results: warpgroups share its pipes as fluids do."""
