"""
Which joints have a motor.

The first source that names any decides: the API argument, cc:role, the `name_mot` list of an
Extended-URDF YAML, <ros2_control> command interfaces, <transmission>. A joint with
cc:role="passive" is left out of the sources after it. Nothing is assumed.
"""

from dataclasses import replace

from closed_chain_dynamics.description.elements import Actuator, JointType, LoopType
from closed_chain_dynamics.errors import DescriptionError, NameNotFound

__all__ = ['resolve']

RIGID = (JointType.FIXED, LoopType.FIXED)


def resolve(reader, root, joints, loops, *, argument=None, motors=()):
    """
    Return joints, loops and actuators with the role of every joint settled.

    `motors` are (name, place) pairs of the Extended-URDF YAML. Actuators stand in the order of
    the joints, tree before loops, whatever order the source has: that order survives a save.
    """
    everything = {each.name: each for each in (*joints, *loops)}
    passive = {name for name, each in everything.items() if each.role == 'passive'}
    if argument is not None:
        argument = [argument] if isinstance(argument, str) else list(argument)
        source, named = 'argument', [(name, 'the argument `actuated`') for name in argument]
        passive = set()
    else:
        by_role = [
            (each.name, reader.where(kind, each.name))
            for kind, group in (('joint', joints), ('loop', loops))
            for each in group
            if each.role == 'actuated'
        ]
        sources = (
            ('cc:role', by_role),
            ('name_mot', motors),
            ('ros2_control', _ros2_control(reader, root)),
            ('transmission', _transmissions(reader, root)),
        )
        source, named = next((pair for pair in sources if pair[1]), ('', []))
    chosen = set()
    for name, place in named:
        moves = name in everything and everything[name].type not in RIGID
        if source == 'transmission' and not moves:
            reader.note(
                f'The transmission of {name!r} is left out: the joint '
                f'{"is fixed" if name in everything else "does not exist"}.'
            )
            continue
        if name not in everything:
            raise NameNotFound('joint', name, everything, file=reader.label, where=place)
        if not moves:
            raise DescriptionError(
                f'the joint {name!r} is fixed and cannot be actuated',
                file=reader.label,
                where=place,
                repair='Give it a type that moves, or take it out.',
            )
        if name not in passive:
            chosen.add(name)
    joints, loops = (tuple(_settled(each, chosen) for each in group) for group in (joints, loops))
    actuators = tuple(
        Actuator(each.name, source) for each in (*joints, *loops) if each.name in chosen
    )
    return joints, loops, actuators


def _settled(joint, chosen):
    """Return the joint with role 'actuated' exactly when it was chosen."""
    if joint.name in chosen:
        return replace(joint, role='actuated')
    return replace(joint, role='') if joint.role == 'actuated' else joint


def _ros2_control(reader, root):
    return [
        (joint.get('name', ''), reader.place(joint))
        for joint in root.iterfind('ros2_control/joint')
        if joint.find('command_interface') is not None
    ]


def _transmissions(reader, root):
    return [
        (joint.get('name', ''), reader.place(joint))
        for joint in root.iterfind('transmission/joint')
    ]
