"""Visuals and collisions of an SDF link."""

from typing import Any

from closed_chain_dynamics.description.elements import Geometry, Shape
from closed_chain_dynamics.description.fields import Reader
from closed_chain_dynamics.description.rotations import pose_of
from closed_chain_dynamics.description.sdf_frames import read_pose

__all__ = ['read_shapes']

# kind -> the elements that make up Geometry.size, with the count of numbers of each
SIZES = {
    'box': (('size', 3),),
    'cylinder': (('radius', 1), ('length', 1)),
    'capsule': (('radius', 1), ('length', 1)),
    'sphere': (('radius', 1),),
}


def read_shapes(reader: Reader, link: Any) -> tuple[tuple[Shape, ...], tuple[Shape, ...]]:
    """Return what is seen and what collides; planes and terrains are left out."""
    visuals, collisions = (
        tuple(
            shape
            for element in link.findall(tag)
            if (shape := _shape(reader, element)) is not None
        )
        for tag in ('visual', 'collision')
    )
    return visuals, collisions


def _shape(reader: Reader, element: Any) -> Shape | None:
    geometry = _geometry(reader, element)
    if geometry is None:
        return None
    diffuse = element.find('material/diffuse')
    rgba: tuple[float, ...] = ()
    if diffuse is not None and (diffuse.text or '').strip():
        rgba = (*reader.content(diffuse, most=4), 1.0)[:4]
    origin = pose_of(*read_pose(reader, element.find('pose')))
    return Shape(geometry, origin, rgba, name=element.get('name', ''))


def _geometry(reader: Reader, element: Any) -> Geometry | None:
    for kind, parts in SIZES.items():
        found = element.find(f'geometry/{kind}')
        if found is not None:
            size = [
                value
                for tag, count in parts
                for value in reader.content(reader.child(found, tag, required=True), count=count)
            ]
            return Geometry(kind, tuple(size))
    mesh = element.find('geometry/mesh')
    if mesh is None:
        return None
    scale = mesh.find('scale')
    return Geometry(
        'mesh',
        (),
        (mesh.findtext('uri') or '').strip(),
        (1.0, 1.0, 1.0) if scale is None else reader.content(scale, count=3),
    )
