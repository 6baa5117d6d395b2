"""The sub-commands of ``closed-chain``, one module each."""
