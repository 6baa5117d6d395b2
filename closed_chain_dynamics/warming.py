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

"""Compiles every kernel once, so that nobody waits for it later: at set-up, before going live."""

from __future__ import annotations

import gc
import sys

import numpy as np

from closed_chain_dynamics.assembly.completion import complete_acceleration, complete_velocity
from closed_chain_dynamics.assembly.search import assemble
from closed_chain_dynamics.dynamics import tree
from closed_chain_dynamics.dynamics.constraints import loop_positions
from closed_chain_dynamics.dynamics.contact_impacts import contact_impact
from closed_chain_dynamics.dynamics.distances import singularity_distances
from closed_chain_dynamics.dynamics.forward import forward_dynamics
from closed_chain_dynamics.dynamics.generalized_coordinates import coordinates
from closed_chain_dynamics.dynamics.inverse import inverse_dynamics
from closed_chain_dynamics.dynamics.joint_reactions import reactions
from closed_chain_dynamics.kernels import compile_at_once, surface_distance
from closed_chain_dynamics.kernels.fitting import velocity_of_theta_G
from closed_chain_dynamics.kernels.sharing import fill_cells
from closed_chain_dynamics.model.mechanism import Mechanism, load
from closed_chain_dynamics.simulation.simulation import INTEGRATORS, Simulation

__all__ = ['warm_up']

# Two links that a free-flying base carries, and a loop or a contact: enough for every kernel.
SMALL_MODEL = """<robot name="small" xmlns:cc="urn:closed_chain_dynamics">
  <link name="a"/>
  <link name="b"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="c"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="base" type="floating"><parent link="a"/><child link="b"/></joint>
  <joint name="knee" type="revolute"><parent link="b"/><child link="c"/>
    <origin xyz="0 0 1"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="9" velocity="9"/></joint>
  <constraint name="grip" type="{type}"><parent link="a"/><parent_origin xyz="0 0 2"/>
    <parent_axis xyz="0 1 0"/><child link="c"/><child_origin xyz="0 0 1"/>
    {more}</constraint>
</robot>"""
HINGED = SMALL_MODEL.format(type='revolute', more='<child_axis xyz="0 1 0"/>')
STANDING_MODEL = SMALL_MODEL.format(type='surface', more='<cc:contact normal="0 0 1" mu="0.5"/>')


def warm_up(*, quiet: bool = False, backwards: bool = False) -> None:
    """
    Run every computation once on a small mechanism, which compiles what is not compiled yet.

    With a cold cache, a second process that runs `backwards` halves the time: each uses what the
    other has compiled.
    """
    compile_at_once()
    robot = load(HINGED, actuated=['knee'])
    steps = [_tree, _closed_chain, _assembly, _control, _simulation, _contact, _shared]
    collects = gc.isenabled()
    gc.disable()  # also between two kernels: what compiling has made is long, and stays
    try:
        for step in reversed(steps) if backwards else steps:
            step(robot)
    finally:
        if collects:
            gc.enable()
    if not quiet:
        print('closed_chain_dynamics: all kernels are compiled', file=sys.stderr)


def _tree(robot: Mechanism) -> None:
    q, zero = robot.neutral(), np.zeros(robot.nv)
    tree.difference(robot, q, tree.integrate(robot, q, zero))
    tree.newton_euler(robot, q, zero, zero)
    tree.joint_wrenches(robot, q, zero, zero)
    tree.mass_matrix(robot, q)
    tree.link_placements(robot, q)
    tree.link_velocities(robot, q, zero)
    tree.jacobian(robot, q, 'c')
    tree.energy(robot, q, zero)


def _closed_chain(robot: Mechanism) -> None:
    q, zero = robot.neutral(), np.zeros(robot.nv)
    coordinates(robot, q)
    singularity_distances(robot, q)
    loop_positions(robot, q)
    acceleration = forward_dynamics(robot, q, zero).acceleration
    inverse_dynamics(robot, q, zero, acceleration)
    reactions(robot, q, zero, acceleration)


def _assembly(robot: Mechanism) -> None:
    q = assemble(robot, {'knee': 0.1}, start=robot.neutral())
    complete_acceleration(robot, q, complete_velocity(robot, q, {'knee': 1.0}), {'knee': 0.5})


def _control(robot: Mechanism) -> None:
    # SciPy's splines take half a second to import, and who warms nothing up needs none of them
    from closed_chain_dynamics.control.control_loop import ControlLoop
    from closed_chain_dynamics.control.law import TorqueController
    from closed_chain_dynamics.control.rehearsed_turns import warm_up as take_turns
    from closed_chain_dynamics.control.torque_guard import TorqueGuard

    take_turns(ControlLoop(TorqueController(robot), TorqueGuard(robot)))
    zero = np.zeros(robot.nv)
    velocity_of_theta_G(robot.handle, np.zeros((robot.nv, robot.nv)), zero, zero.copy())


def _simulation(robot: Mechanism) -> None:
    for integrator in INTEGRATORS:
        sim = Simulation(robot, q=robot.neutral(), dt=1e-3, integrator=integrator)
        sim.step()
    whole = sim.robot.connections()
    sim.cut('grip')
    sim.cut('knee')
    sim.robot.copy().restructure(whole)
    sim.connect('knee', 'grip')


def _contact(_: Mechanism) -> None:
    robot = load(STANDING_MODEL)
    sim = Simulation(robot, dt=1e-3)
    sim.step()
    contact_impact(robot, sim.q.copy(), sim.v.copy(), [0], [0])
    surface_distance(robot.structure.loops[0], robot.workspace.frames[0])
    sim.apply_wrench('c', (100.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    sim.step()


def _shared(_: Mechanism) -> None:
    fill_cells()  # springs, say, which this mechanism has not
