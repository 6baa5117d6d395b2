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

"""MuJoCo compiles an MJCF file; here is its model, with a name for every element."""

from pathlib import Path
import re
from typing import Any

from lxml import etree
import numpy as np

from closed_chain_dynamics.description.document import Document
from closed_chain_dynamics.description.fields import Reader
from closed_chain_dynamics.description.mjcf_files import check_files
from closed_chain_dynamics.description.names import Names
from closed_chain_dynamics.errors import DescriptionError

__all__ = ['Compiled', 'compile_mjcf', 'import_mujoco']

PLACE = re.compile(r"\n\s*(?:Object name = |Element (?:name )?)'?([^',\n]*)'?.*?line (\d+)", re.S)


MUST_BE_FINITE = (
    *('body_pos', 'body_quat', 'body_ipos', 'body_iquat', 'body_mass', 'body_inertia'),
    *('jnt_pos', 'jnt_axis', 'jnt_range', 'jnt_stiffness', 'qpos0', 'qpos_spring', 'key_qpos'),
    *('dof_damping', 'dof_armature', 'dof_frictionloss', 'eq_data', 'site_pos', 'gravity'),
    *('actuator_armature', 'actuator_damping', 'actuator_gear'),  # the first two since MuJoCo 4
    'geom_pos',
    'geom_quat',
    'geom_size',
    'site_quat',
    'mesh_pos',
    'mesh_quat',
)
MUST_NOT_BE_NEGATIVE = (
    *('dof_damping', 'dof_armature', 'dof_frictionloss'),
    *('actuator_armature', 'actuator_damping'),
)


class Compiled:
    """MuJoCo's model of a file, and the names that its elements have here."""

    def __init__(self, mujoco: Any, model: Any) -> None:
        self.mujoco, self.model = mujoco, model
        self.links = Names(self._given('BODY', model.nbody))
        # joints, loops and couplings share one room here, but not in MuJoCo
        self.joints = Names(self._given('JOINT', model.njnt))
        self.body_names = [
            self.name('BODY', body) or self.links.fresh(f'body_{body}')
            for body in range(model.nbody)
        ]
        self.joint_names = [
            self.name('JOINT', joint)
            or self.joints.fresh(f'{self.body_names[model.jnt_bodyid[joint]]}_joint')
            for joint in range(model.njnt)
        ]

    def name(self, kind: str, number: int) -> str:
        """Return the name in the file, empty where it has none."""
        kinds = self.mujoco.mjtObj
        found = self.mujoco.mj_id2name(self.model, getattr(kinds, f'mjOBJ_{kind}'), number) or ''
        return found if found.strip() else ''

    def turns_or_slides(self, joint: int) -> bool:
        """Tell whether a joint has one coordinate."""
        kind = self.model.jnt_type[joint]
        return any(self.is_type(kind, 'mjtJoint', each) for each in ('HINGE', 'SLIDE'))

    def is_type(self, value: Any, enum: str, kind: str) -> bool:
        """Tell whether a number of the model stands for e.g. ('mjtJoint', 'HINGE')."""
        members = getattr(self.mujoco, enum)
        prefix = {'mjtJoint': 'mjJNT', 'mjtTrn': 'mjTRN', 'mjtEq': 'mjEQ', 'mjtWrap': 'mjWRAP'}
        return bool(value == getattr(members, f'{prefix[enum]}_{kind}'))

    def _given(self, kind: str, count: int) -> list[str]:
        return [name for name in (self.name(kind, each) for each in range(count)) if name]


def import_mujoco(file: str) -> Any:
    """Return the library, or say how to get it."""
    try:
        import mujoco
    except ImportError:
        raise DescriptionError(
            'MJCF is compiled by the library mujoco, which is not installed',
            file=file,
            repair="Install it: pip install 'closed_chain_dynamics[mjcf]'.",
        ) from None
    return mujoco


def compile_mjcf(reader: Reader, document: Document) -> Compiled:
    """Let MuJoCo read and compile a document."""
    mujoco = import_mujoco(reader.label)
    check_files(reader, document)
    # else MuJoCo prints its warnings and leaves a file of them in the current folder
    mujoco.set_mju_user_warning(
        lambda message: reader.note(f'MuJoCo warns: {str(message).strip()}')
    )
    try:
        if document.path is not None and document.label == str(document.path):
            model = mujoco.MjModel.from_xml_path(str(document.path))
        else:  # a text, or what macros grew to
            text = etree.tostring(document.root, encoding='unicode')
            if document.path is None:
                model = mujoco.MjModel.from_xml_string(text)
            else:
                spec = mujoco.MjSpec.from_string(text)
                spec.modelfiledir = str(Path(document.path).parent)
                model = spec.compile()
    except (ValueError, RuntimeError, mujoco.FatalError) as error:
        raise _refused(str(error), reader) from None
    finally:
        mujoco.set_mju_user_warning(None)
    _check_numbers(model, reader)
    _apply_flags(mujoco, model)
    return Compiled(mujoco, model)


def _refused(message: str, reader: Reader) -> DescriptionError:
    """Return MuJoCo's complaint with its place in the usual order."""
    why = message.partition('\n')[0].removeprefix('XML Error: ').removeprefix('Error: ')
    place, where = PLACE.search(message), ''
    if place:
        where = f'line {place[2]}' + (f', {place[1]!r}' if place[1] else '')
    return DescriptionError(
        f'MuJoCo refuses the file: {why}',
        file=reader.label,
        where=where,
        repair='Correct it there; files that it names are looked for beside it.',
    )


def _check_numbers(model: Any, reader: Reader) -> None:
    """Refuse what MuJoCo lets pass: numbers that are none, and laws that give energy."""
    for name in MUST_BE_FINITE:
        values = model.opt.gravity if name == 'gravity' else getattr(model, name, 0.0)
        with np.errstate(over='ignore'):
            finite = np.isfinite(np.multiply(2.0, values)).all()  # sizes are halves
        if name == 'jnt_axis':  # MuJoCo makes zeros of one whose length overflows
            finite = finite and bool(np.all(np.any(values, axis=1)))
        if not finite:
            raise DescriptionError(
                f'{name} of the compiled model is not finite',
                file=reader.label,
                repair='Look for nan, inf or huge numbers in the file.',
            )
    for name in MUST_NOT_BE_NEGATIVE:
        if np.min(getattr(model, name, 0.0), initial=0.0) < 0.0:
            raise DescriptionError(
                f'{name} of the compiled model is negative',
                file=reader.label,
                repair='Look for a negative armature, damping or frictionloss in the file.',
            )


def _apply_flags(mujoco: Any, model: Any) -> None:
    """Take out of the model what <option><flag .../> switches off."""
    flags, off = int(model.opt.disableflags), mujoco.mjtDisableBit
    if flags & off.mjDSBL_GRAVITY:
        model.opt.gravity[:] = 0.0
    if flags & off.mjDSBL_SPRING:
        model.jnt_stiffness[:] = 0.0
        model.tendon_stiffness[:] = 0.0
    if flags & off.mjDSBL_DAMPER:
        model.dof_damping[:] = 0.0
        model.tendon_damping[:] = 0.0
    if flags & (off.mjDSBL_FRICTIONLOSS | off.mjDSBL_CONSTRAINT):
        model.dof_frictionloss[:] = 0.0
    if flags & (off.mjDSBL_LIMIT | off.mjDSBL_CONSTRAINT):
        model.jnt_limited[:] = 0
        model.tendon_limited[:] = 0
    if flags & (off.mjDSBL_EQUALITY | off.mjDSBL_CONSTRAINT):
        model.eq_active0[:] = 0
