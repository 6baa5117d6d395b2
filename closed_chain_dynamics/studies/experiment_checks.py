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

"""What is wrong with an experiment, found before any run of it."""

from collections.abc import Iterator

from closed_chain_dynamics.errors import NameNotFound, StateError
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.studies.batches import why_alone
from closed_chain_dynamics.studies.experiment import GAINS, Experiment
from closed_chain_dynamics.studies.parameters import (
    PARAMETERS,
    RUN_PARAMETERS,
    Variation,
    check_value,
)
from closed_chain_dynamics.studies.runs import Runs

__all__ = ['check_experiment']


def check_experiment(experiment: Experiment) -> None:
    """Refuse names and values that no run can have."""
    robot = experiment.robot
    labels = [each.label for each in experiment.variations]
    names = [each.name for each in experiment.responses]
    for each in (*labels, *names):
        if (labels + names).count(each) > 1:
            raise StateError(
                f'{each} is given twice',
                where=robot.name,
                repair='Give all values of a parameter at once; name responses apart.',
            )
    for response in experiment.responses:
        response.check(robot)
    for given in (*experiment.variations, *_settings(experiment)):
        _check_name(experiment, given)
    for variation, column in zip(experiment.variations, experiment.design.T):
        for value in (column.min(), column.max()):
            if variation.parameter in RUN_PARAMETERS:
                check_value(variation, value, robot.name)
            else:
                experiment.model([variation], [value])
    Runs(experiment).simulation(experiment.q, experiment.v)  # the start of the model as it is
    if not experiment.responses:
        raise StateError(
            'no response is given', where=robot.name, repair='Give one, as peak=max(abs(v.crank)).'
        )
    if experiment.compiled:
        _check_compiled(experiment)


def _check_compiled(experiment: Experiment) -> None:
    """Refuse what generated code would have no part in."""
    changes = [e.label for e in experiment.variations if e.parameter not in RUN_PARAMETERS]
    reason = why_alone(experiment) if changes else ''
    if reason:
        raise StateError(
            'runs that are taken one by one share the generated code of one model, and '
            f'{changes[0]} changes the model: {reason}',
            where=experiment.robot.name,
            repair='Leave out --compiled.',
        )


def _settings(experiment: Experiment) -> Iterator[Variation]:
    """Yield numbers of the run that are given, as variations of one value."""
    for parameter in ('kp', 'kd', 'target', 'connect', 'cut', 'tau'):
        for name, value in getattr(experiment, parameter).items():
            yield Variation(parameter, name, (value,))


def _check_name(experiment: Experiment, given: Variation) -> None:
    robot = experiment.robot
    if given.parameter not in RUN_PARAMETERS:
        known = [*PARAMETERS, 'length', 'gravity', *RUN_PARAMETERS]
        if given.parameter not in known:
            raise NameNotFound('parameter to vary', given.parameter, known, where=robot.name)
        return
    joints = [each for each in robot.joint_names if _width(robot, each) == 1]
    known = {
        'connect': [*robot.loop_names, *robot.joint_names],
        'cut': [*robot.loop_names, *robot.joint_names],
        'tau': list(robot.actuator_names),
        **{name: [each for each in joints if each in robot.actuator_names] for name in GAINS},
    }.get(given.parameter, [*joints, *robot.loop_coordinate_names])
    if given.name not in known:
        raise NameNotFound(
            'joint' if given.parameter not in ('tau', *GAINS) else 'actuated joint',
            given.name,
            known,
            where=f'{robot.name}, {given.label}',
        )
    if given.scale and given.name not in getattr(experiment, given.parameter):
        raise StateError(
            f'{given.label} has no value to multiply',
            where=robot.name,
            repair=f'Give one, or values of {given.label} without x.',
        )


def _width(robot: Mechanism, joint: str) -> int:
    places = robot.joint_slices(joint)[1]
    return int(places.stop - places.start)
