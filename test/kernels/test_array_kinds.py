# Copyright 2026 the authors of closed_chain_dynamics
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Arrays that may not be written to, or lie apart in memory: nothing is compiled again."""

from numba.core import event
from numba.core.dispatcher import Dispatcher
import numpy as np
import pytest

import closed_chain_dynamics as ccd


class Compilations(event.Listener):
    """Notes what is compiled."""

    def __init__(self):
        self.names = []

    def on_start(self, event):
        self.names.append(event.data['dispatcher'].py_func.__qualname__)

    def on_end(self, event):
        """Nothing to note at the end."""


def read_only(x):
    x = np.array(x)
    x.flags.writeable = False
    return x


def every_second(x):
    return np.repeat(x, 2)[::2]


def backwards(x):
    return np.array(x[::-1])[::-1]


def in_fortran_order(x):
    return np.asfortranarray(np.tile(x[:, None], 3))[:, 1]


KINDS = [read_only, every_second, backwards, in_fortran_order]
robot = ccd.load('five_bar')
q = ccd.assemble(robot, {})
v = ccd.complete_velocity(robot, q, {'left_shoulder': 0.3, 'right_shoulder': -0.1})
a = ccd.complete_acceleration(robot, q, v, {'left_shoulder': 1.0, 'right_shoulder': 0.2})
tau = np.array([0.5, -0.25])
point = np.array([0.1, 0.0, 0.0])
wrench = np.arange(6.0)
watch = ccd.SingularityWatch(robot)


def simulated(kind):
    sim = ccd.Simulation(robot, q=kind(q), v=kind(v), dt=1e-3)
    sim.step(kind(tau))
    return sim.q


CALLS = {
    'assemble': lambda x: ccd.assemble(robot, {'left_shoulder': 0.7}, start=x(q)),
    'complete_velocity': lambda x: ccd.complete_velocity(robot, x(q), {'left_shoulder': 0.3}),
    'complete_acceleration': lambda x: ccd.complete_acceleration(
        robot, x(q), x(v), {'left_shoulder': 0.3}
    ),
    'coordinates': lambda x: ccd.coordinates(robot, x(q)).W,
    'distances': lambda x: watch(x(q))['loops'],
    'constraint_jacobian': lambda x: ccd.constraint_jacobian(robot, x(q), x(v))[0],
    'loop_jacobian': lambda x: ccd.loop_jacobian(robot, x(q)),
    'inverse_dynamics': lambda x: (
        ccd.inverse_dynamics(robot, x(q), x(v), x(a), wrenches={'left_lower': x(wrench)}).tau_A
    ),
    'forward_dynamics': lambda x: (
        ccd.forward_dynamics(
            robot, x(q), x(v), x(tau), extra=x(v), wrenches={'left_lower': x(wrench)}
        ).acceleration
    ),
    'b': lambda x: ccd.forward_dynamics(robot, x(q), x(v), x(tau)).b,
    'constraint_forces': lambda x: (
        ccd.forward_dynamics(robot, x(q), x(v), x(tau)).constraint_forces
    ),
    'reactions': lambda x: ccd.reactions(robot, x(q), x(v), x(a), x(tau)).multipliers,
    'impact': lambda x: ccd.impact(robot, x(q), x(v)).v_after,
    'newton_euler': lambda x: ccd.newton_euler(robot, x(q), x(v), x(a)),
    'mass_matrix': lambda x: ccd.mass_matrix(robot, x(q)),
    'jacobian': lambda x: ccd.jacobian(robot, x(q), 'left_lower', point=x(point)),
    'jacobian_bias': lambda x: ccd.jacobian_bias(robot, x(q), x(v), 'left_lower', point=x(point)),
    'link_placements': lambda x: ccd.link_placement(robot, x(q), 'left_lower'),
    'link_velocities': lambda x: ccd.link_velocities(robot, x(q), x(v))['left_lower'],
    'link_accelerations': lambda x: ccd.link_accelerations(robot, x(q), x(v), x(a))['left_lower'],
    'energy': lambda x: np.array(ccd.energy(robot, x(q), x(v))),
    'momentum': lambda x: ccd.momentum(robot, x(q), x(v)),
    'center_of_mass': lambda x: ccd.center_of_mass(robot, x(q)),
    'joint_wrenches': lambda x: ccd.joint_wrenches(robot, x(q), x(v), x(a))['left_shoulder'],
    'integrate': lambda x: ccd.integrate(robot, x(q), x(v)),
    'difference': lambda x: ccd.difference(robot, x(q), x(q)),
    'loop_gaps': lambda x: robot.loop_gaps(x(q))['tip'],
    'simulation': simulated,
}


@pytest.mark.parametrize('call', CALLS.values(), ids=CALLS)
def test_no_kernel_is_compiled_again_for_another_kind_of_array(call):
    expected = np.asarray(call(np.array))  # whatever has to be compiled is
    count = Compilations()
    with event.install_listener('numba:compile', count):
        for kind in KINDS:
            np.testing.assert_array_equal(np.asarray(call(kind)), expected, err_msg=kind.__name__)
    assert count.names == []


@pytest.mark.parametrize(
    'name', ['inverse_dynamics', 'forward_dynamics', 'newton_euler', 'mass_matrix']
)
def test_what_a_kernel_refuses_is_not_explained_in_vain(name, monkeypatch):
    """Numba takes 30 times as long as the computation to say which types it would have taken."""
    for kind in (np.array, *KINDS):
        CALLS[name](kind)  # numba meets each kind once
    asked = []
    monkeypatch.setattr(Dispatcher, 'typeof_pyval', lambda _, value: asked.append(type(value)))
    for kind in KINDS:
        CALLS[name](kind)
    assert asked == []
