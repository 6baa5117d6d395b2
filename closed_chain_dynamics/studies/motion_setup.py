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

"""What a recorded motion has beside its file, in YAML: where markers sit, what stands on what."""

from collections.abc import Mapping
from typing import Any

from closed_chain_dynamics.errors import ClosedChainError, NameNotFound
from closed_chain_dynamics.model.mechanism import Mechanism
from closed_chain_dynamics.recording.log_files import Path
from closed_chain_dynamics.studies.ground import MU, ContactPoint, Ground
from closed_chain_dynamics.studies.motion.marker_fit import Marker

__all__ = ['read_setup']

SETUP_KEYS = ('markers', 'contacts', 'ground')
ENTRIES = {
    'markers': ('link', 'xyz', 'weight'),
    'contacts': ('link', 'xyz', 'mu'),
    'ground': ('height', 'near', 'slow', 'mu'),
}


def read_setup(robot: Mechanism, path: Path) -> tuple[dict[str, Marker] | None, Ground | None]:
    """
    Return places of markers, and the ground, each None where the file does not say it.

    `markers`: {name: {link, xyz, weight}}; `contacts`: {name: {link, xyz, mu}}; `ground`: {height,
    near, slow, mu}, see `Ground`.
    """
    import yaml

    try:
        with open(path, encoding='utf-8') as file:
            given = yaml.safe_load(file)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        why = getattr(error, 'strerror', None) or ' '.join(str(error).split())
        raise _refused(path, f'the setup cannot be read: {why}') from None
    if not isinstance(given, Mapping) or not given:
        raise _refused(path, 'a setup must map keys to values')
    for key, value in given.items():
        if key not in SETUP_KEYS:
            raise NameNotFound('entry of a setup', key, SETUP_KEYS, file=path)
        if not isinstance(value, Mapping):
            raise _refused(path, f'{key!r} has a value that cannot be read: {value!r}')
    ground = given.get('ground', {})
    _check_entries(ground, 'ground', path)
    markers = {
        str(name): Marker(link, xyz, size)
        for name, link, xyz, size in _points(robot, path, given, 'markers', 1.0)
    }
    try:
        settings = {str(name): float(value) for name, value in ground.items()}
    except (TypeError, ValueError):
        raise _refused(path, f'ground has a value that cannot be read: {ground!r}') from None
    mu = settings.pop('mu', MU)
    contacts = tuple(
        ContactPoint(str(name), link, xyz, size)
        for name, link, xyz, size in _points(robot, path, given, 'contacts', mu)
    )
    return markers or None, Ground(contacts, **settings) if contacts else None


def _points(
    robot: Mechanism, path: Path, given: Mapping[str, Any], key: str, usual: float
) -> list[tuple[str, str, tuple[float, float, float], float]]:
    """Return (name, link, xyz, weight or friction) of points on links."""
    links, found = [each.name for each in robot.description.links], []
    *_, size = ENTRIES[key]
    for name, point in given.get(key, {}).items():
        if not isinstance(point, Mapping):
            raise _refused(path, f'{name!r} has a value that cannot be read: {point!r}')
        _check_entries(point, key, path)
        if point.get('link') not in links:
            raise NameNotFound('link', point.get('link'), links, file=path, where=str(name))
        try:
            x, y, z = map(float, point.get('xyz', (0.0, 0.0, 0.0)))
            number = float(point.get(size, usual))
        except (TypeError, ValueError):
            raise _refused(path, f'{name!r} has a value that cannot be read: {point!r}') from None
        if not number > 0.0:
            raise _refused(path, f'{name!r} has a {size} of {number:g}, and it must be positive')
        found.append((name, str(point['link']), (x, y, z), number))
    return found


def _check_entries(given: Mapping[str, Any], key: str, path: Path) -> None:
    for name in given:
        if name not in ENTRIES[key]:
            raise NameNotFound(f'entry of {key}', name, ENTRIES[key], file=path)


def _refused(path: Path, why: str) -> ClosedChainError:
    return ClosedChainError(
        why,
        file=path,
        repair='Write for instance markers: {knee: {link: shank, xyz: [0, 0.05, 0]}} and '
        'contacts: {heel: {link: foot, xyz: [-0.05, 0, -0.06], mu: 0.6}}.',
    )
