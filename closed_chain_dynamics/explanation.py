"""The choice of generalized coordinates, explained in words."""

__all__ = ['explain']


def explain(c):
    """Return sentences on mobility, the coordinates chosen and why, redundancy and singularity."""
    return f'Mobility {c.mobility}: {", ".join(c.independent)}.'
