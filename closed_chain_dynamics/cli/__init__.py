"""
The ``closed-chain`` command: `main` and one module per sub-command, with the helpers they share.

A module here reads arguments, calls other rooms and prints; it computes nothing itself. It may
import every room, the heavy ones inside functions, so that help is instant.
"""
