"""
What `closed-chain bench` measures: this package, Pinocchio and MuJoCo side by side.

Every model is built for each engine from the same numbers, and the answers are compared before
anything is timed. Times are of calls from Python. The calls take turns, a short batch of each, so
that all of them see the same noise; a ratio is the median over the turns of the ratio within one
turn. Read the ratios: the times belong to the machine and to what else it is doing.
"""

from dataclasses import dataclass
import gc
from itertools import repeat
import os
import platform
from time import perf_counter

import numpy as np

from benchmarks.models import case
from benchmarks.peers import MuJoCo, Pinocchio
from closed_chain_dynamics import __version__
from closed_chain_dynamics.dynamics.forward import forward_dynamics
from closed_chain_dynamics.dynamics.generalized_coordinates import coordinates
from closed_chain_dynamics.dynamics.inverse import inverse_dynamics
from closed_chain_dynamics.dynamics.tree import mass_matrix, newton_euler
from closed_chain_dynamics.errors import ClosedChainError
from closed_chain_dynamics.recording.terminal import number, table

__all__ = ['bench_report', 'render']

SCHEMA = 'closed-chain-bench/1'  # a key that is added keeps it, one that changes or goes ends it
MODELS = ('M1', 'M2', 'M3', 'M4_8', 'M4_64')

# Relative differences. Trees differ by rounding, which the cancelling of large parts in tau_O
# amplifies (the worst is 2e-12); closed chains by rounding times the condition of the problem,
# which is 1e5 for the ladder of 64 (the worst is 4e-10).
TREE_TOLERANCE, CLOSED_TOLERANCE = 1e-10, 1e-8
# MuJoCo's answer against our equations with its softness put in (the worst is 3e-10)
SOFTENED_TOLERANCE = 1e-6

BATCH, LEAST_TURNS = 3e-4, 3  # seconds that a call is repeated for in its turn; turns
# Settings of Pinocchio that are tried: mu, iterations. What misses CLOSED_TOLERANCE is left out,
# and the fastest of the others is its best correct call. lcaba is accurate for a large mu only,
# and then needs iterations.
DENSE_SETTINGS = ((0.0, 1), (1e-12, 1), (1e-10, 1), (1e-8, 2), (1e-6, 3))
RECURSIVE_SETTINGS = tuple((mu, n) for mu in (1e-3, 1e-4, 1e-5, 1e-6) for n in (2, 3, 5, 7, 10))

# model, operation, against whom, how many times faster it has to be. With the null space NumPy
# gives the same torques as here; the one least-squares problem does not where they are redundant.
NUMPY = 'pinocchio + numpy, null space'
TARGETS = (
    ('M3', 'newton_euler', 'pinocchio', 1.0),
    ('M3', 'mass_matrix', 'pinocchio', 1.0),
    ('M2', 'forward_dynamics', 'pinocchio', 1.2),
    ('M3', 'forward_dynamics', 'pinocchio', 1.5),
    ('M4_64', 'forward_dynamics', 'pinocchio', 5.0),
    *((model, 'inverse_dynamics', NUMPY, 20.0) for model in MODELS),
)
LINEAR = 1.1  # cost ~ k^p over the long ladders, p at most this


@dataclass(frozen=True)
class Plan:
    """How long to measure."""

    seconds: float  # for each model
    ladder: tuple  # numbers of four-bars
    ladder_seconds: float


QUICK = Plan(3.0, (1, 2, 4, 8, 16, 32, 64), 2.0)
FULL = Plan(20.0, (1, 2, 4, 8, 12, 16, 24, 32, 48, 64), 15.0)


def bench_report(*, quick=False, tell=lambda text: None):
    """Return all measurements as plain values, fit for JSON; `tell` hears how far it is."""
    plan = QUICK if quick else FULL
    versions, missing = {'closed_chain_dynamics': __version__}, {}
    models = []
    for key in MODELS:
        tell(f'{key}: building, comparing, measuring')
        models.append(_measure(case(key), plan, versions, missing))
    tell('the ladder, from short to long')
    ladder = _ladder(plan)
    return {
        'schema': SCHEMA,
        'quick': quick,
        'machine': _machine(),
        'versions': versions,
        'missing': missing,
        'models': models,
        'ladder': ladder,
        'targets': _targets(models, ladder),
    }


def _machine():
    load = os.getloadavg()[0] if hasattr(os, 'getloadavg') else None  # how busy it is
    return {
        'processor': platform.processor() or platform.machine(),
        'cores': os.cpu_count(),
        'load': load,
        'python': platform.python_version(),
        'numpy': np.__version__,
    }


# --- timing --------------------------------------------------------------------------------------
def interleave(calls, seconds):
    """
    Return microseconds per call, {name: (turns,)}, of calls {name: (function, arguments)}.

    The garbage collector rests, as it would fall on one call or another by chance.
    """
    counts = {name: _batch(*call) for name, call in calls.items()}
    times = {name: [] for name in calls}
    enabled = gc.isenabled()
    gc.disable()
    try:
        end, turns = perf_counter() + seconds, 0
        while perf_counter() < end or turns < LEAST_TURNS:
            turns += 1
            for name, (function, arguments) in calls.items():
                times[name].append(_time(function, arguments, counts[name]))
    finally:
        if enabled:
            gc.enable()
    return {name: 1e6 * np.array(values) for name, values in times.items()}


def _time(function, arguments, count):
    start = perf_counter()
    for _ in repeat(None, count):
        function(*arguments)
    return (perf_counter() - start) / count


def _batch(function, arguments):
    """Return how many calls make a batch; the first call may compile and is not counted."""
    function(*arguments)
    return max(1, int(BATCH / min(_time(function, arguments, 3) for _ in range(3))))


def _summary(times):
    low, median, high = np.percentile(times, (25, 50, 75))
    return {
        'median_us': median,
        'best_us': times.min(),
        'quartiles_us': [low, high],
        'turns': len(times),
    }


def _ratio(theirs, ours):
    low, median, high = np.percentile(theirs / ours, (25, 50, 75))
    return {'median': median, 'quartiles': [low, high]}


# --- one model -----------------------------------------------------------------------------------
def _measure(model, plan, versions, missing):
    """Return agreement, times and ratios of one model."""
    peers = {}
    for name, peer in (('pinocchio', Pinocchio), ('mujoco', MuJoCo)):
        try:
            peers[name] = peer(model)
            versions[name] = peers[name].version
        except ImportError as error:
            missing[name] = str(error)
    agreement = {}
    if 'pinocchio' in peers:
        agreement['pinocchio'] = _agreement_with_pinocchio(model, peers['pinocchio'])
    if 'mujoco' in peers:
        agreement['mujoco'] = _agreement_with_mujoco(model, peers['mujoco'])
    operations = _operations(model, peers)
    operations['forward_dynamics'].update(
        _best_forward(model, peers['pinocchio']) if 'pinocchio' in peers else {}
    )
    result = {}
    for name, calls in operations.items():
        times = interleave(calls, plan.seconds / len(operations))
        result[name] = {
            'times': {call: _summary(values) for call, values in times.items()},
            'ratios': {
                call: _ratio(values, times['ours'])
                for call, values in times.items()
                if call != 'ours'
            },
        }
    _name_best(result)
    robot, c = model.robot, coordinates(model.robot, model.q)
    return {
        'name': model.key,
        'title': model.title,
        'nv': robot.nv,
        'rows': len(c.J_C),
        'rank': c.rank,
        'mobility': c.mobility,
        'actuators': len(robot.actuator_names),
        'agreement': agreement,
        'operations': result,
    }


def _operations(model, peers):
    """Return every call that is timed, {operation: {name: (function, arguments)}}."""
    robot, q, v, a = model.robot, model.q, model.v, model.a
    calls = {
        'newton_euler': {'ours': (newton_euler, (robot, q, v, a))},
        'mass_matrix': {'ours': (mass_matrix, (robot, q))},
        'forward_dynamics': {'ours': (forward_dynamics, (robot, q, v, model.tau_A))},
        'inverse_dynamics': {'ours': (inverse_dynamics, (robot, q, v, a))},
    }
    if 'pinocchio' in peers:
        peer = peers['pinocchio']
        calls['newton_euler']['pinocchio rnea'] = peer.newton_euler()
        calls['mass_matrix']['pinocchio crba'] = peer.mass_matrix()
        calls['inverse_dynamics'][NUMPY] = (peer.inverse_by_null_space, ())
        calls['inverse_dynamics']['pinocchio + numpy, least squares'] = (
            peer.inverse_by_least_squares,
            (),
        )
    if 'mujoco' in peers:
        calls['forward_dynamics']['mujoco mj_forward'] = peers['mujoco'].forward()
        calls['inverse_dynamics']['mujoco mj_inverse (of the tree)'] = peers['mujoco'].inverse()
    return calls


def _name_best(result):
    """Add under 'pinocchio' and 'mujoco' the ratio to the fastest call of each engine."""
    for operation in result.values():
        for engine in ('pinocchio', 'mujoco'):
            names = [name for name in operation['ratios'] if name.startswith(engine)]
            if names:
                best = min(names, key=lambda name: operation['times'][name]['median_us'])
                operation['ratios'][engine] = {**operation['ratios'][best], 'call': best}


# --- agreement -----------------------------------------------------------------------------------
def _difference(actual, expected):
    """Return the largest difference over the largest magnitude; infinity where it is no number."""
    error = np.abs(actual - expected).max() / np.abs(expected).max()
    return float(error) if np.isfinite(error) else np.inf


def _agree(model, engine, differences):
    """Return the differences {what: (value, tolerance)} as values, or raise for one too large."""
    for what, (value, tolerance) in differences.items():
        if not value <= tolerance:
            raise ClosedChainError(
                f'{what} differs from that of {engine} by {value:.1e}, more than {tolerance:.0e}',
                where=f'model {model.key}',
                repair='Times of different answers mean nothing.',
            )
    return {what: value for what, (value, _) in differences.items()}


def _agreement_with_pinocchio(model, peer):
    robot, q, v, a = model.robot, model.q, model.v, model.a
    ours = inverse_dynamics(robot, q, v, a)
    best = min(
        (_call(peer.constraint_dynamics(mu, n)) for mu, n in ((0.0, 1), (1e-10, 20))),
        key=lambda answer: _difference(a, answer),
    )
    levers = ours.coordinates.S.T
    return _agree(
        model,
        'Pinocchio',
        {
            'tau_O': (
                _difference(newton_euler(robot, q, v, a), _call(peer.newton_euler())),
                TREE_TOLERANCE,
            ),
            'M': (_difference(mass_matrix(robot, q), _call(peer.mass_matrix())), TREE_TOLERANCE),
            'acceleration': (_difference(a, best), CLOSED_TOLERANCE),
            'tau_A': (_difference(ours.tau_A, peer.inverse_by_null_space()), CLOSED_TOLERANCE),
            # of least norm with the loop forces instead of alone: only its effect is the same
            'S^T tau_A': (
                _difference(levers @ peer.inverse_by_least_squares(), ours.tau_G),
                CLOSED_TOLERANCE,
            ),
        },
    )


def _agreement_with_mujoco(model, peer):
    robot, q, rest = model.robot, model.q, np.zeros(model.robot.nv)
    theirs = peer.acceleration_at_rest()
    force = model.tau - newton_euler(robot, q, rest, rest)
    softened = peer.softened(mass_matrix(robot, q), force)
    result = _agree(
        model,
        'MuJoCo',
        {
            'M': (_difference(mass_matrix(robot, q), peer.mass_matrix_ours()), TREE_TOLERANCE),
            'acceleration as soft as theirs': (_difference(softened, theirs), SOFTENED_TOLERANCE),
        },
    )
    rigid = forward_dynamics(robot, q, rest, model.tau_A).acceleration
    peer.set_state(model.v)
    return {**result, 'acceleration': _difference(theirs, rigid)}


def _call(call):
    function, arguments = call
    return np.array(function(*arguments))


def _best_forward(model, peer):
    """Return Pinocchio's fastest correct settings of each algorithm, {name: call}."""
    kinds = {'constraintDynamics': (peer.constraint_dynamics, DENSE_SETTINGS)}
    if not peer.on_world:
        kinds['lcaba'] = (peer.recursive_dynamics, RECURSIVE_SETTINGS)
    best = {}
    for kind, (make, settings) in kinds.items():
        correct = {}
        for mu, iterations in settings:
            call = make(mu, iterations)
            _call(call)  # lcaba starts from what the last call left
            if _difference(_call(call), model.a) <= CLOSED_TOLERANCE:
                correct[f'pinocchio {kind}, mu {mu:g}, iterations {iterations}'] = call
        if correct:
            times = interleave(correct, 0.1)
            name = min(correct, key=lambda each: np.median(times[each]))
            best[name] = correct[name]
    return best


# --- the ladder ----------------------------------------------------------------------------------
def _ladder(plan):
    """Return the cost of ladders of growing length, and the power of k that it follows."""
    cases = {k: case(f'M4_{k}') for k in plan.ladder}
    result = {'k': list(cases)}
    for name, calls in (
        (
            'forward_dynamics',
            {
                k: (forward_dynamics, (each.robot, each.q, each.v, each.tau_A))
                for k, each in cases.items()
            },
        ),
        (
            'inverse_dynamics',
            {
                k: (inverse_dynamics, (each.robot, each.q, each.v, each.a))
                for k, each in cases.items()
            },
        ),
    ):
        times = interleave(calls, plan.ladder_seconds / 2.0)
        medians = [float(np.median(times[k])) for k in cases]
        long = [i for i, k in enumerate(cases) if k >= 8]  # short ones are mostly the call itself
        power = np.polyfit(
            np.log([result['k'][i] for i in long]), np.log([medians[i] for i in long]), 1
        )[0]
        result[name] = {
            'median_us': medians,
            'power': float(power),
            'us_per_four_bar': [time / k for time, k in zip(medians, cases)],
        }
    return result


def _targets(models, ladder):
    """Return what is wanted and what was measured."""
    targets = []
    results = {model['name']: model['operations'] for model in models}
    for model, operation, engine, wanted in TARGETS:
        ratio = results[model][operation]['ratios'].get(engine)
        if ratio:
            targets.append(
                {
                    'model': model,
                    'operation': operation,
                    'against': ratio.get('call', engine),
                    'wanted': wanted,
                    'measured': ratio['median'],
                    'met': bool(ratio['median'] >= wanted),
                }
            )
    for operation in ('forward_dynamics', 'inverse_dynamics'):
        power = ladder[operation]['power']
        targets.append(
            {
                'model': 'M4_k',
                'operation': operation,
                'against': 'k to the power of',
                'wanted': LINEAR,
                'measured': power,
                'met': bool(power <= LINEAR),
            }
        )
    return targets


# --- text ----------------------------------------------------------------------------------------
def render(report, style):
    """Return the report for people."""
    lines = [
        style.paint(
            'Microseconds per call from Python, and how many times faster ours is', 'bold'
        ),
        '',
    ]
    load, cores = report['machine']['load'], report['machine']['cores']
    if load is not None and load > cores:
        lines += [
            style.paint(
                f'This machine is busy (load {load:.1f} on {cores} cores): trust '
                'the ratios, and those within 10 percent not even.',
                'yellow',
            ),
            '',
        ]
    for name, reason in report['missing'].items():
        lines += [
            style.paint(
                f'{name} is not measured: {reason}. "pip install pin mujoco" brings both engines.',
                'yellow',
            ),
            '',
        ]
    for model in report['models']:
        lines += _model_text(model, style)
    lines += _ladder_text(report['ladder'], style)
    rows = [
        (
            each['model'],
            each['operation'],
            each['against'],
            f'{"at most" if each["model"] == "M4_k" else "at least"} {each["wanted"]:g}',
            number(each['measured'], 3),
            ('met', 'green') if each['met'] else ('missed', 'red'),
        )
        for each in report['targets']
    ]
    lines += [
        style.paint('Targets', 'bold'),
        *_indented(
            table(('model', 'operation', 'against', 'wanted', 'measured', ''), rows, style)
        ),
    ]
    return '\n'.join(lines)


def _model_text(model, style):
    lines = [
        style.paint(f'{model["name"]}  {model["title"]}', 'bold')
        + f': {model["nv"]} tree degrees of freedom, {model["rows"]} rows of rank '
        f'{model["rank"]}, mobility {model["mobility"]}, {model["actuators"]} actuators'
    ]
    for engine, differences in model['agreement'].items():
        text = ', '.join(f'{what} {value:.0e}' for what, value in differences.items())
        lines.append(style.paint(f'  differs from {engine}: {text}', 'dim'))
    rows = []
    for operation, result in model['operations'].items():
        for call, time in result['times'].items():
            low, high = time['quartiles_us']
            ratio = result['ratios'].get(call)
            rows.append(
                (
                    operation if call == 'ours' else '',
                    call,
                    f'{time["median_us"]:.2f}',
                    f'{low:.2f} .. {high:.2f}',
                    f'{time["best_us"]:.2f}',
                    (f'{ratio["median"]:.2f}', 'bold') if ratio else '',
                )
            )
    heads = ('operation', 'call', 'median', 'quartiles', 'best', 'ratio')
    return lines + _indented(table(heads, rows, style)) + ['']


def _ladder_text(ladder, style):
    lines = [style.paint('M4_k  cost of a ladder of k four-bars', 'bold')]
    rows = [
        (
            str(k),
            *(
                f'{ladder[name][what][i]:.2f}'
                for name in ('forward_dynamics', 'inverse_dynamics')
                for what in ('median_us', 'us_per_four_bar')
            ),
        )
        for i, k in enumerate(ladder['k'])
    ]
    heads = ('k', 'forward', 'per four-bar', 'inverse', 'per four-bar')
    return lines + _indented(table(heads, rows, style)) + ['']


def _indented(lines):
    return ['  ' + line for line in lines]
