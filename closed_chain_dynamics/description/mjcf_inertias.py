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

"""
Inertias as MuJoCo takes them: positive, within the triangle inequality, or none at all.

Frames of sensors and tools are often links with next to no inertia. MuJoCo refuses them, but does
without an inertia where a link is fixed to another that has one.
"""

from dataclasses import replace

import numpy as np

from closed_chain_dynamics.description.bodies import grow
from closed_chain_dynamics.description.elements import Description, Inertia, Pose
from closed_chain_dynamics.description.inertia_checks import repaired
from closed_chain_dynamics.description.left_out import LeftOut
from closed_chain_dynamics.description.rotations import upper_triangle

__all__ = ['mjcf_inertias']

LEAST_INERTIA = 1e-13  # principal moment [kg m^2], and mass [kg]; MuJoCo wants more than 1e-14
TRIANGLE_ROUNDING = (
    1e-9  # relative; what is outside the triangle by less is no change worth a word
)
EIGENVALUE_MARGIN = (
    1e-12  # relative; MuJoCo compares without a tolerance, after computing eigenvalues
)


def mjcf_inertias(description: Description, left_out: LeftOut) -> dict[str, Inertia]:
    """Return the inertias that bodies are written with, by link; some carry those of others."""
    links = {link.name: link for link in description.links}
    bodies, places = grow(description)
    groups: dict[int, dict[str, Inertia]] = {}
    for name, link in links.items():
        if link.inertia is not None:
            groups.setdefault(places[name][0], {})[name] = link.inertia
    found: dict[str, Inertia] = {}
    for number, group in groups.items():
        good = {name: each for name, each in group.items() if _is_taken(each)}
        first = next(iter(group))
        if len(good) < len(group) and not number:
            for name in group.keys() - good.keys():
                left_out.add('inertias of links that never move', name, 'nothing follows')
        elif len(good) < len(group):
            mass, com, tensor = bodies[number].inertia_about_com()
            _, R, p = places[first]
            origin = Pose(tuple(float(each) for each in R.T @ (com - p)))
            whole = Inertia(mass, origin, upper_triangle(R.T @ tensor @ R))
            if len(group) > 1:
                left_out.change('inertias of links that are fixed to each other are summed', first)
                if len({links[name].gravcomp for name in group}) > 1:
                    left_out.add('weight that something else carries, of parts alone', first)
            good = {first: whole if _is_taken(whole) else _raised(whole)}
            if not _is_taken(whole):
                left_out.change('inertias that MuJoCo refuses are the nearest it takes', first)
        found |= {name: _inside(each) for name, each in good.items()}
    return found


def _is_taken(inertia: Inertia) -> bool:
    smallest, middle, largest = np.linalg.eigvalsh(inertia.tensor)
    return bool(
        inertia.mass > LEAST_INERTIA
        and smallest > LEAST_INERTIA
        and largest <= (smallest + middle) * (1.0 + TRIANGLE_ROUNDING)
    )


def _inside(inertia: Inertia) -> Inertia:
    """Return the inertia a little inside the triangle, where it is on its border."""
    smallest, middle, largest = np.linalg.eigvalsh(inertia.tensor)
    if smallest + middle >= largest * (1.0 + EIGENVALUE_MARGIN):
        return inertia
    return _grown(inertia, smallest + middle - largest * (1.0 + 2.0 * EIGENVALUE_MARGIN))


def _raised(inertia: Inertia) -> Inertia:
    """Return the nearest inertia that MuJoCo takes."""
    inertia = repaired(replace(inertia, mass=max(inertia.mass, 2.0 * LEAST_INERTIA)))
    smallest = float(np.linalg.eigvalsh(inertia.tensor)[0])
    return inertia if smallest > LEAST_INERTIA else _grown(inertia, smallest - 2.0 * LEAST_INERTIA)


def _grown(inertia: Inertia, excess: float) -> Inertia:
    """Return the inertia with all moments larger by what is missing, -excess [kg m^2]."""
    tensor = inertia.tensor - excess * np.eye(3)
    return Inertia(inertia.mass, Pose(inertia.origin.xyz), upper_triangle(tensor))
