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

"""Studies name the stop that a motion runs into, instead of blaming the model."""

import json

import numpy as np

import closed_chain_dynamics as ccd
from closed_chain_dynamics.cli.main import main
from closed_chain_dynamics.studies.motion.moving import Motion
from closed_chain_dynamics.studies.motion.stops import reached_stops

ARM = """<robot name="arm" xmlns:cc="urn:closed_chain_dynamics">
  <link name="base"/>
  <link name="bar"> <inertial> <origin xyz="0.2 0 0"/> <mass value="1"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/> </inertial> </link>
  <joint name="elbow" type="revolute" cc:role="actuated"> <parent link="base"/>
    <child link="bar"/> <axis xyz="0 1 0"/> <limit lower="-1" upper="{upper}" effort="9"
    velocity="99"/> {more} </joint>
</robot>"""
FALL = ('--q', 'elbow=0', '--tau', 'elbow=0.1', '--time', '0.6')


def recorded(folder, upper):
    """Return the arm's file, the record of its fall, and when it hits its stop."""
    (folder / 'arm.urdf').write_text(ARM.format(upper=upper, more=''))
    model, record = str(folder / 'arm.urdf'), str(folder / 'record.csv')
    assert main(['simulate', model, *FALL, '--csv', record]) == 0
    sim = ccd.Simulation(ccd.load(model), [0.0])
    sim.run(0.6, {'elbow': 0.1})
    return model, record, [each.time for each in sim.events][:1]


def test_validity_names_the_stop_and_not_an_instability(capsys, tmp_path):
    model, record, (hit,) = recorded(tmp_path, 0.5)
    assert main(['study', 'validity', model, '--trajectory', record]) == 1
    said = capsys.readouterr().out
    assert f'elbow reaches the end of its range at {hit:.4g} s' in said
    assert 'unstable' not in said


def test_identification_asks_for_a_record_within_the_range(capsys, tmp_path):
    for upper, named in ((0.5, True), (6.0, False)):
        model, record, hits = recorded(tmp_path, upper)
        assert bool(hits) is named
        assert main(['study', 'identify', model, '--record', record, '--rate', '100']) == 0
        found = capsys.readouterr()
        assert ('use a record that stays within the range' in found.out) is named
        assert 'Warning' not in found.err  # of NumPy


def test_a_limit_moment_is_no_stop():
    soft = '<cc:limit_moment model="linear" stiffness="10" damping="0" transition="0.1"/>'
    motion = Motion(np.array([0.0, 0.1]), *np.zeros((3, 2, 1)))
    motion.q[1] = 0.5
    assert reached_stops(ccd.load(ARM.format(upper=0.5, more='')), motion) == {'elbow': 0.1}
    assert reached_stops(ccd.load(ARM.format(upper=0.6, more='')), motion) == {}
    robot = ccd.load(ARM.format(upper=0.5, more=soft))
    assert robot.description.joints[0].limit_moment is not None
    assert reached_stops(robot, motion) == {}


def test_the_error_of_an_integration_is_not_printed_as_dissipation(capsys, tmp_path):
    recorded(tmp_path, 3.0)  # into its stop, without friction and damping
    assert 'J put in, 0 J dissipated' in capsys.readouterr().out


def test_samples_held_back_are_not_blamed_where_they_fit_to_rounding(capsys, tmp_path):
    model, record, _ = recorded(tmp_path, 6.0)
    assert main(['study', 'identify', model, '--record', record, '--json']) == 0
    out = capsys.readouterr().out
    report = json.loads(out[out.index('{') :])
    assert report['held_back'] < 1e-3
    assert not [each for each in report['warnings'] if 'held back' in each]
