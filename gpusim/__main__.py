"""`python -m gpusim` is the command `gpusim`."""

from gpusim.cli.app import main

if __name__ == "__main__":
    raise SystemExit(main())
