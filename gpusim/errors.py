"""The one error a user sees: what is wrong, where, the values, and what to do."""


class GpusimError(Exception):
    """A mistake in the input, told in one paragraph.

    `what` names the problem with its values, `where` the file, field or argument, `hint` the remedy.
    The command line prints it without a traceback and exits with status 2.
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what, self.where, self.hint = what, where, hint
        super().__init__(str(self))

    def __str__(self) -> str:
        head = f"{self.where}: {self.what}" if self.where else self.what
        return f"{head}{'' if head.endswith(chr(10)) else ' '}{self.hint}".strip()
