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
Models inside an SDF model: written there, or included from other files; here they become one.

A link L of a nested model M is called M::L, and its frame M or M::__model__; what is included with
merge="true" keeps its names. Several models in a world become one in the same way. An include is
looked for beside the file, in the folders above it, and where the variables in SEARCH_PATHS point.
"""

from copy import deepcopy
import os
from pathlib import Path
import re
from typing import Any

from lxml import etree

from closed_chain_dynamics.description.document import Document, open_document
from closed_chain_dynamics.description.elements import WORLD_LINK
from closed_chain_dynamics.description.fields import Reader, some_of
from closed_chain_dynamics.description.rotations import pose_of
from closed_chain_dynamics.description.sdf_frames import (
    MODEL,
    NO_OFFSET,
    SdfFrames,
    chained,
    read_pose,
    relative,
)
from closed_chain_dynamics.errors import DescriptionError

__all__ = ['one_model']

SEARCH_PATHS = ('SDF_PATH', 'GZ_SIM_RESOURCE_PATH', 'GAZEBO_MODEL_PATH')
NESTED_TAGS = ('link', 'joint', 'frame')  # what a nested model hands on
TRUE = ('true', '1')


def one_model(reader: Reader, document: Document) -> tuple[Any, Any]:
    """Return the model, all nested ones in it, and the world that it stands in or None."""
    root, world = document.root, document.root.find('world')
    files = () if document.path is None else (document.path.resolve(),)
    found = []
    for place in (root, world):
        for each in () if place is None else place.iterchildren('model', 'include'):
            model = (each, files) if each.tag == 'model' else _included(reader, each, files)
            found += [] if model is None else [model]
    if not found:
        raise reader.error(root, 'it holds no model', 'Put a <model> into it.')
    if len(root.findall('world')) > 1:
        reader.note('Only the first of several worlds is read.')
    moving = [each for each in found if not _is_static(each[0])]
    chosen = moving or found
    if moving and len(found) > len(moving):
        named = _named(root)
        chosen = [each for each in found if each in moving or each[0].get('name') in named]
    if len(chosen) == 1:
        return _flat(reader, *chosen[0]), world
    return _together(reader, [_flat(reader, *each) for each in chosen], world), world


def _is_static(model: Any) -> bool:
    return (model.findtext('static') or '').strip() in TRUE


def _named(root: Any) -> set[str]:
    """Return the names that poses, frames and joints refer to, those of parts without the part."""
    words = [each.get('relative_to', '') for each in root.iter('pose')]
    words += [each.get('attached_to', '') for each in root.iter('frame')]
    words += [(each.text or '').strip() for each in root.iter('parent', 'child')]
    return {each.partition('::')[0] for each in words}


def _together(reader: Reader, models: list[Any], world: Any) -> Any:
    """Return one model of several that stand in a world, each under its own name."""
    names = [each.get('name', '') for each in models]
    reader.note(f'It holds {len(names)} models, read as one: {some_of(names)}.')
    name = '' if world is None else world.get('name', '')
    whole = etree.Element('model', name=name or 'world')
    whole.extend(models)
    whole.extend([] if world is None else deepcopy([*world.iterchildren('joint', 'frame')]))
    for model in filter(_is_static, models):
        held = etree.SubElement(whole, 'joint', name=f'{model.get("name")}_static', type='fixed')
        for tag, end in (('parent', WORLD_LINK), ('child', model.get('name'))):
            etree.SubElement(held, tag).text = end
    return _flat(reader, whole, ())


def _flat(reader: Reader, model: Any, files: tuple[Path, ...]) -> Any:
    """Return the model with everything that nested ones hold, under their names."""
    model = deepcopy(model)
    for each in list(model.iterchildren('model', 'include')):
        merged = each.tag == 'include' and each.get('merge') in TRUE
        found = (each, files) if each.tag == 'model' else _included(reader, each, files)
        model.remove(each)
        if found is None:
            continue
        inner, name = _flat(reader, *found), found[0].get('name', '')
        prefix = '' if merged else f'{name}::'
        base = f'_merged__{name}__model__' if merged else f'{name}::{MODEL}'
        model.append(_frame(reader, inner, prefix, base))
        for part in inner.iterchildren(*NESTED_TAGS):
            _rename(part, prefix, base)
            model.append(part)
    return model


def _included(
    reader: Reader, include: Any, files: tuple[Path, ...]
) -> tuple[Any, tuple[Path, ...]] | None:
    """Return the model that an include names, with its own name and pose, and the way there."""
    uri = (include.findtext('uri') or '').strip()
    path = _found(uri, files)
    why = 'is not found' if path is None else 'includes itself' if path in files else ''
    model = None
    if path is not None and not why:
        try:
            root = open_document(path).root
            model = root.find('model') if root.tag == 'sdf' else None
            why = '' if model is not None else 'holds no SDF model'
        except DescriptionError as error:
            why = f'cannot be read: {error}'
    if model is None or path is None:
        reader.note(f'LINKS MAY BE MISSING: {uri!r} at {reader.place(include)} {why}.')
        return None
    model = deepcopy(model)
    name, pose = (include.findtext('name') or '').strip(), include.find('pose')
    if name:
        model.set('name', name)
    if pose is not None:
        for old in model.findall('pose'):
            model.remove(old)
        model.append(deepcopy(pose))
    if include.findtext('placement_frame'):
        model.set('placement_frame', include.findtext('placement_frame').strip())
    return model, (*files, path)


def _found(uri: str, files: tuple[Path, ...]) -> Path | None:
    """Return the file that a uri means: model://name, file://path or a plain path."""
    name = re.sub(r'^\w+://', '', uri)
    folders = list(files[-1].parents) if files else [Path.cwd()]
    for variable in SEARCH_PATHS:
        folders += [Path(each) for each in os.environ.get(variable, '').split(os.pathsep) if each]
    for folder in folders if name else ():
        place = folder / name
        if place.is_file():
            return place.resolve()
        if place.is_dir():
            inside = [place / 'model.sdf', *sorted(place.glob('*.sdf'))]
            return next((each.resolve() for each in inside if each.is_file()), None)
    return None


def _frame(reader: Reader, inner: Any, prefix: str, base: str) -> Any:
    """Return the frame of a nested model; it is attached to its canonical link."""
    pose = inner.find('pose')
    place, to = read_pose(reader, pose), '' if pose is None else pose.get('relative_to', '')
    put = inner.get('placement_frame', '')
    if put:  # the pose is where that frame stands, not the model
        frames = SdfFrames(reader, inner)
        within = relative(frames.of(MODEL, inner), frames.of(put, inner))
        place = chained(place, relative(within, NO_OFFSET))
    first = next((each.get('name', '') for each in inner.iterchildren('link')), '')
    canonical = inner.get('canonical_link', '') or first
    frame = etree.Element('frame', name=base)
    if canonical:
        frame.set('attached_to', prefix + canonical)
    made = etree.SubElement(frame, 'pose', relative_to=to or MODEL)
    stated = pose_of(*place)
    made.text = ' '.join(repr(float(each)) for each in (*stated.xyz, *stated.rpy))
    return frame


def _rename(part: Any, prefix: str, base: str) -> None:
    """Give a link, joint or frame of a nested model its long name, and those that it refers to."""

    def long(name: str | None) -> str:
        name = (name or '').strip()
        return base if name == MODEL else name if name in ('', WORLD_LINK) else prefix + name

    part.set('name', prefix + part.get('name', ''))
    pose = part.find('pose')
    if pose is not None and pose.get('relative_to'):
        pose.set('relative_to', long(pose.get('relative_to')))
    elif part.tag == 'link':
        pose = etree.SubElement(part, 'pose') if pose is None else pose
        pose.set('relative_to', base)
    if part.tag == 'frame':
        part.set('attached_to', long(part.get('attached_to')) or base)
    for end in part.iterchildren('parent', 'child', 'gearbox_reference_body'):
        end.text = long((end.text or '').strip() or end.get('link'))
    for axis in part.iterchildren('axis', 'axis2'):
        for xyz in axis.iterchildren('xyz'):
            in_model = (axis.findtext('use_parent_model_frame') or '').strip() in TRUE
            if xyz.get('expressed_in') or in_model:
                xyz.set('expressed_in', long(xyz.get('expressed_in')) or base)
        for mimic in axis.iterchildren('mimic'):
            mimic.set('joint', long(mimic.get('joint')))
