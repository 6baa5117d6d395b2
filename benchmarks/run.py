#!/usr/bin/env python3
"""Runs the benchmark from a source tree: the same as `closed-chain bench`, options included."""

from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from closed_chain_dynamics.cli.main import main  # noqa: E402: the path comes first

if __name__ == '__main__':
    sys.exit(main(['bench', *sys.argv[1:]]))
