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

"""How far poses are from singular ones, cluster by cluster: against closed forms and NumPy."""

from helpers.folding_linkages import bar, four_bar, hinge, parallel_pose, parallelogram
import numpy as np
import pytest

import closed_chain_dynamics as ccd
from closed_chain_dynamics.dynamics.constraints import row_units

ROUNDING = 1e-12  # of numbers about 1
CRANK, ROD = 0.1, 0.3


def slider_crank(actuated=('crank',)):
    """Return a slider-crank whose slide goes through the crank's axis, along x."""
    xml = (
        '<robot name="press"><link name="base"/>'
        + bar('crank_bar', CRANK)
        + bar('rod_bar', ROD)
        + bar('ram_bar', 0.1)
        + hinge('crank', 'base', 'crank_bar')
        + hinge('rod', 'crank_bar', 'rod_bar', CRANK)
        + """<joint name="ram" type="prismatic"><parent link="base"/><child link="ram_bar"/>
        <axis xyz="1 0 0"/><limit lower="-9" upper="9" effort="100" velocity="9"/></joint>
        <constraint name="pin" type="revolute">
        <parent link="rod_bar"/><parent_origin xyz="0.3 0 0"/><parent_axis xyz="0 0 1"/>
        <child link="ram_bar"/><child_axis xyz="0 0 1"/></constraint></robot>"""
    )
    return ccd.load(xml, actuated=actuated)


def pressed(robot, crank):
    """Return the pose of the slider-crank in closed form."""
    rod = -np.arcsin(CRANK / ROD * np.sin(crank))
    q = robot.neutral()
    for joint, value in (
        ('crank', crank),
        ('rod', rod - crank),
        ('ram', CRANK * np.cos(crank) + ROD * np.cos(rod)),
    ):
        q[robot.joint_slices(joint)[0]] = value
    return q


def motion(crank):
    """Return rates of rod and ram against the crank's, in closed form."""
    turned = -np.arcsin(CRANK / ROD * np.sin(crank))
    rate = -CRANK * np.cos(crank) / (ROD * np.cos(turned))
    return rate - 1.0, -CRANK * np.sin(crank) - ROD * np.sin(turned) * rate


@pytest.mark.parametrize('crank', [0.3, 1.0, 2.0, 3.0, 4.0])
@pytest.mark.parametrize('motor', ['crank', 'ram'])
def test_a_slider_crank_has_the_numbers_of_the_closed_form(motor, crank):
    robot = slider_crank((motor,))
    length = robot.structure.world['length']
    rod, ram = motion(crank)
    size = np.sqrt(1.0 + rod**2 + (ram / length) ** 2)
    found = ccd.singularity_distances(robot, pressed(robot, crank))
    assert list(found) == ['pin'] and found['pin'].joints == ('crank', 'rod', 'ram')
    lever = 1.0 if motor == 'crank' else abs(ram) / length
    assert found['pin'].actuators == pytest.approx(lever / size, rel=ROUNDING)
    still = min(1.0, abs(ram) / length) / size
    assert found['pin'].links == pytest.approx(still, rel=ROUNDING)
    assert found['pin'].link == 'ram_bar'


@pytest.mark.parametrize('off', [0.0, 1e-12, 1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize('dead', [0.0, np.pi])
def test_a_crank_in_line_with_its_rod_is_seen_in_the_distance(dead, off):
    robot = slider_crank()
    q = pressed(robot, dead + off)
    nearest = ccd.coordinates(robot, q).nearest
    assert nearest.what == 'links' and nearest.link == 'ram_bar'
    assert nearest.distance == pytest.approx(
        CRANK
        * (1.0 + np.cos(dead) * CRANK / ROD)
        * off
        * nearest.actuators
        / robot.structure.world['length'],
        rel=1e-3,
        abs=1e-15,
    )
    assert nearest.loops > 0.1  # the loop itself is as good as ever
    assert not ccd.coordinates(robot, q).is_singular
    assert "'ram_bar' would stand still" in str(nearest)


@pytest.mark.parametrize('model', ['five_bar', 'stewart', 'swing', 'exo', 'biped'])
def test_the_loops_have_the_singular_values_of_numpy(model):
    robot = ccd.load(model)
    q = ccd.assemble(robot, {})
    c = ccd.coordinates(robot, q)
    J = row_units(robot)[:, None] * c.J_C * robot.structure.dofs['scale']
    expected = {}
    for cluster in c.clusters:
        if cluster.rank < len(cluster.dofs):
            sigma = np.linalg.svd(J[np.ix_(cluster.rows, cluster.dofs)])[1]
            expected[cluster.number] = sigma[cluster.rank - 1] / sigma[0]
    found = [each.loops for each in c.distances.values()]
    np.testing.assert_allclose(found, list(expected.values()), rtol=1e-9)
    assert c.condition == pytest.approx(1.0 / min(found))


def leg(ankle_crank=0.1):
    """Return a knee and an ankle below it, each a four-bar with a motor on its crank."""
    parts = ['<robot name="leg"><link name="base"/>']
    pins = []
    for name, carrier, at in (('knee', 'base', 0.0), ('ankle', 'knee_rocker', 0.35)):
        crank = ankle_crank if name == 'ankle' else 0.1
        parts += [
            bar(f'{name}_crank', crank),
            bar(f'{name}_rod', 0.25),
            bar(f'{name}_rocker', 0.2),
            hinge(f'{name}_motor', carrier, f'{name}_crank', at),
            hinge(f'{name}_pin', f'{name}_crank', f'{name}_rod', crank),
            hinge(name, carrier, f'{name}_rocker', at + 0.3),
        ]
        pins.append(
            f"""<constraint name="{name}_loop" type="revolute"><parent link="{name}_rod"/>
            <parent_origin xyz="0.25 0 0"/><parent_axis xyz="0 0 1"/>
            <child link="{name}_rocker"/><child_origin xyz="0.2 0 0"/><child_axis xyz="0 0 1"/>
            </constraint>"""
        )
    return ccd.load(''.join(parts + pins) + '</robot>', actuated=('knee_motor', 'ankle_motor'))


def aligned(crank, rod, rocker, ground):
    """Return crank angle and rocker angle where crank and rod are in line, by the cosine rule."""
    reach = crank + rod
    angle = np.arccos((reach**2 + ground**2 - rocker**2) / (2.0 * reach * ground))
    x, y = reach * np.cos(angle) - ground, reach * np.sin(angle)
    return angle, np.arctan2(y, x)


def test_the_dead_point_of_an_ankle_is_not_hidden_behind_the_knee():
    robot = leg()
    crank, _ = aligned(0.1, 0.25, 0.2, 0.3)
    q = ccd.assemble(robot, {'knee_motor': 1.5, 'ankle_motor': crank, 'ankle_pin': 0.0})
    c = ccd.coordinates(robot, q)
    assert c.nearest.name == 'ankle_loop' and c.distance < 1e-7
    assert c.nearest.link == 'ankle_rocker'
    assert set(c.nearest.joints) == {'ankle_motor', 'ankle_pin', 'ankle'}
    assert c.distances['knee_loop'].distance > 0.02
    away = ccd.assemble(robot, {'knee_motor': 1.5, 'ankle_motor': crank + 0.3}, start=q)
    assert ccd.coordinates(robot, away).distances['ankle_loop'].distance > 0.02


def test_a_cluster_that_cannot_move_comes_no_nearer_to_anything():
    """Two couplings on two joints: nothing moves, and nothing is said about it."""
    xml = '<robot name="r"><link name="base"/>' + ''.join(
        [bar('a', 1.0), bar('b', 1.0), hinge('ja', 'base', 'a'), hinge('jb', 'base', 'b')]
    )
    coupling = """<coupling name="{}"><predecessor link="a"/><successor link="b"/>
      <ratio value="{}"/></coupling>"""
    robot = ccd.load(xml + coupling.format('one', 1) + coupling.format('two', 2) + '</robot>')
    assert ccd.singularity_distances(robot, robot.neutral()) == {}
    assert ccd.coordinates(robot, robot.neutral()).distance == 1.0


def test_a_singular_pose_that_is_the_first_one_seen_has_no_distance():
    robot = parallelogram()
    found = ccd.singularity_distances(robot, parallel_pose(robot, 0.0))['pin']
    assert found.distance < 1e-12 and found.what == 'loops'
    beside = ccd.singularity_distances(robot, parallel_pose(robot, 0.01))['pin']
    assert 1e-3 < beside.loops < 1e-2
    assert beside.condition == pytest.approx(1.0 / beside.loops)


def test_a_watch_is_one_call_and_follows_the_structure():
    robot = leg()
    q = ccd.assemble(robot, {'knee_motor': 1.5, 'ankle_motor': 1.2})
    watch = ccd.SingularityWatch(robot)
    numbers = watch(q)
    assert watch.names == ('knee_loop', 'ankle_loop')
    named = watch.named(q)
    for name, row in zip(watch.names, numbers):
        for what in ('loops', 'actuators', 'links'):
            assert getattr(named[name], what) == row[what]
    assert watch.worst(q) == min(named.values(), key=lambda each: each.distance)
    robot.cut('knee_loop')
    assert len(watch(q)) == 1 and watch.names == ('ankle_loop',)
    robot.cut('ankle_loop')
    assert len(watch(q)) == 0 and watch.worst(q) is None
    with pytest.raises(ccd.StateError, match='q has shape'):
        watch(q[:2])


def test_the_numbers_do_not_depend_on_theta_G():
    q, numbers = None, []
    for motors in (('crank',), ('coupler',), ('rocker',)):
        robot = four_bar(1.0, 0.3, 0.9, 0.7, actuated=motors)
        q = ccd.assemble(robot, {'crank': 0.5}) if q is None else q
        assert ccd.coordinates(robot, q).independent == list(motors)
        found = ccd.singularity_distances(robot, q)['pin']
        numbers.append((found.loops, found.links))
    np.testing.assert_allclose(numbers, [numbers[0]] * 3, rtol=ROUNDING)


def test_a_motor_on_a_cut_joint_has_the_lever_of_that_joint():
    """The pin between coupler and rocker, cut: its rate in closed form from the others."""
    robot = four_bar(1.0, 0.3, 0.9, 0.7, actuated=('pin',))
    q = ccd.assemble(robot, {'crank': 0.5})
    W = ccd.coordinates(robot, q).W
    rate = ccd.loop_jacobian(robot, q) @ W / np.linalg.norm(W)
    found = ccd.singularity_distances(robot, q)['pin']
    assert found.actuators == pytest.approx(np.abs(rate).item(), rel=ROUNDING)
