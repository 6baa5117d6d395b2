"""
Look at a model in the browser, with sliders that respect its loops.

  ros2 launch closed_chain_dynamics view.launch.py model:=four_bar
"""

from closed_chain_dynamics.ros import composition
from closed_chain_dynamics.ros.launching import describe

ARGUMENTS = {
    'model': ('four_bar', 'a file, or a shipped model: swing, high_bar, four_bar, exo, ...'),
    'port': ('8080', 'of the view'),
    'namespace': ('', 'of all nodes'),
}


def programs(given):
    """Return what to start."""
    return composition.view(given['model'], port=int(given['port']))


def generate_launch_description():
    """Return what `ros2 launch` starts."""
    return describe(ARGUMENTS, programs)
