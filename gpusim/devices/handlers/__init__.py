"""What each effect does to a CTA and to what it shares: one function per effect, gathered in one table."""

from gpusim.devices.cta import Handler
from gpusim.devices.handlers import instructions, loads, matrix, stores

HANDLERS: dict[type, Handler] = instructions.HANDLERS | matrix.HANDLERS | loads.HANDLERS | stores.HANDLERS

__all__ = ["HANDLERS"]
