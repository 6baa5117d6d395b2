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

"""The parameters of contact_node, and the detectors that they ask for."""

from closed_chain_dynamics.control.contact_detection import ContactDetector
from closed_chain_dynamics.description.assignments import assignments
from closed_chain_dynamics.errors import StateError
from closed_chain_dynamics.ros.parameters import Parameters, Setting

__all__ = ['SETTINGS', 'make_detectors']

FORCE_AXES = ('norm', 'x', 'y', 'z')
SETTINGS = [
    Setting('force_contacts', [], 'loop joints controlled by a wrench sensor', fixed=True),
    Setting('height_contacts', [], 'loop joints controlled by a height sensor', fixed=True),
    Setting('force_axis', 'norm', 'component of the force that is used', choices=FORCE_AXES),
    Setting('make_force', 50.0, 'contact is made above [N]', low=0.0, high=1e5),
    Setting('release_force', 20.0, 'contact is released below [N]', low=0.0, high=1e5),
    Setting('make_height', 0.005, 'contact is made below [m]', low=-10.0, high=10.0),
    Setting('release_height', 0.02, 'contact is released above [m]', low=-10.0, high=10.0),
    Setting('thresholds', [], 'name=make,release for contacts with individual thresholds'),
    Setting(
        'debounce',
        0.01,
        'how long a signal has to stay beyond a threshold [s]',
        low=0.0,
        high=10.0,
    ),
    Setting(
        'dwell', 0.1, 'shortest time between two decisions about a contact [s]', low=0.0, high=60.0
    ),
    Setting(
        'timeout',
        0.5,
        'report a signal that is missing for longer than this [s]',
        low=0.001,
        high=60.0,
    ),
]


def make_detectors(p: Parameters) -> dict[str, ContactDetector]:
    """Return a detector per contact, or raise where thresholds do not fit."""
    own = assignments(p.thresholds, "parameter 'thresholds'")
    made = {}
    for signal, names, usual in (
        ('force', p.force_contacts, (p.make_force, p.release_force)),
        ('height', p.height_contacts, (p.make_height, p.release_height)),
    ):
        for name in names:
            pair = own.pop(name, usual)
            if name in made or not isinstance(pair, (list, tuple)) or len(pair) != 2:
                raise StateError(
                    f'contact {name!r} is named twice'
                    if name in made
                    else f'{name!r} needs two thresholds',
                    where='contact_node',
                    repair='Write name=make,release.',
                )
            made[name] = ContactDetector(
                signal, *pair, debounce=p.debounce, dwell=p.dwell, closed=None
            )
    if own:
        raise StateError(
            f'thresholds for {", ".join(own)}, which is not a contact here',
            where='contact_node',
            repair='Name it in force_contacts or height_contacts.',
        )
    return made
