"""Studies that must be refused: id -> function of a folder."""

from helpers.bad_calls import command, four_bar
from helpers.bad_motions import ball_file
import numpy as np

from closed_chain_dynamics.cli import study
from closed_chain_dynamics.studies.motion.reading import Motion
from closed_chain_dynamics.studies.validity import study_validity

__all__ = ['STUDIES']

TURNS = 'time,ball:qx,ball:qy,ball:qz,ball:qw\n' + ''.join(f'{t},0,0,0,1\n' for t in range(9))
CRANK = 'time,crank\n' + ''.join(f'{t},1\n' for t in range(9))


def asked(*arguments):
    """Return a call of `closed-chain study`."""
    return command(*arguments, module=study)


def vary(*variations, model='pendulum'):
    """Return a call of a what-if study."""
    return asked('what-if', model, '--vary', *variations, '--time', '0.01')


def compare(text, *arguments, model='four_bar'):
    """Return a call of a study of a record with these lines."""

    def run(at):
        (at / 'record.csv').write_text(text)
        name = ball_file(at) if model == 'ball' else model
        asked('consistency', name, '--trajectory', at / 'record.csv', *arguments)(at)

    return run


def too_short(at):
    """Ask whether a single pose comes back."""
    robot, q = four_bar()
    study_validity(robot, Motion(np.zeros(1), q[None], np.zeros((1, 3)), np.zeros((1, 3)), []))


STUDIES = {
    'a motion of one pose': too_short,
    'a mass of zero': vary('mass:arm=0'),
    'a negative damping': vary('damping:swing=-1'),
    'gravity without end': vary('gravity=inf'),
    'a grid without end': vary('mass:arm=' + ','.join(map(str, range(1, 202)))),
    'a mass varied twice': vary('mass:arm=1', 'mass:arm=2'),
    'an unknown parameter': vary('maas:arm=1'),
    'the mass of an unknown link': vary('mass:arn=1'),
    'the stiffness of an unknown spring': vary('stiffness:arm=1'),
    'the friction of no contact': vary('mu:coupler_rocker=1', model='four_bar'),
    'an unknown joint to watch': asked(
        'what-if', 'pendulum', '--vary', 'gravity=1', '--watch', 'swong'
    ),
    'a torque on an unknown joint in a study': asked(
        'what-if', 'pendulum', '--vary', 'gravity=1', '--tau', 'swong=1'
    ),
    'a cutoff beyond the samples': compare(CRANK, '--smooth', 3),
    'samples that are not even': compare(CRANK.replace('\n5,', '\n5.5,'), '--smooth', 0.2),
    'a ball that is smoothed': compare(TURNS, '--smooth', 0.2, model='ball'),
}
