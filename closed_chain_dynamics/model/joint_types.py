"""The joints of the tree as the kernels number them: their places in q, their names in v."""

from closed_chain_dynamics.description import JointType
from closed_chain_dynamics.kernels import records as at

__all__ = ['KERNEL_TYPES', 'VELOCITY_SUFFIXES', 'WIDTHS_IN_Q']

KERNEL_TYPES = {
    JointType.REVOLUTE: at.REVOLUTE,
    JointType.CONTINUOUS: at.REVOLUTE,
    JointType.PRISMATIC: at.PRISMATIC,
    JointType.PLANAR: at.PLANAR,
    JointType.SPHERICAL: at.SPHERICAL,
    JointType.FLOATING: at.FREE,
}
# by the joint types of the kernels: revolute, prismatic, planar, spherical, free
WIDTHS_IN_Q = (1, 1, 4, 4, 7)
VELOCITY_SUFFIXES = (
    ('',),
    ('',),
    (':vx', ':vy', ':wz'),
    (':wx', ':wy', ':wz'),
    (':vx', ':vy', ':vz', ':wx', ':wy', ':wz'),
)
