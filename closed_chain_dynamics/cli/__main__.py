"""Runs ``closed-chain`` as ``python -m closed_chain_dynamics.cli``."""

import sys

from closed_chain_dynamics.cli.main import main

if __name__ == '__main__':
    sys.exit(main())
