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
Cutting a joint of the tree, and undoing it (Nakamura and Yamane, section V-B).

The part beyond the cut becomes a child of the world through a free joint; parent and child of all
other joints stay as they are. The numbers of velocities change, so everything that points at one
is indexed anew; the tables have room for it from the start.
"""

import numpy as np

from . import records as at
from .body_motion import nearest_motion
from .compiling import kernel
from .coordinates import solve_constraints
from .kinematics import NO_VECTOR, motion, placements
from .linear_algebra import copy_to
from .loop_joints import WHOLE_TURN
from .structure import build_clusters
from .vectors import (
    add,
    angular,
    axis,
    minus,
    norm,
    put,
    put_axis,
    put_spatial,
    rotate,
    rotate_back,
    velocity_at,
)


@kernel
def _widths(joint):
    """Return how many numbers a joint has in q and in v."""
    if joint <= at.PRISMATIC:
        return 1, 1
    if joint == at.SPHERICAL:
        return 4, 3
    return (7, 6) if joint == at.FREE else (4, 3)


@kernel
def _is_home(own, home):
    """Return whether a body is joined as it was described."""
    return own.parent == home.parent and own.joint == home.joint


@kernel
def _free_coordinate(own, scale):
    """Make a coordinate one of a free joint, which nothing drives, holds or damps."""
    own.preference, own.actuator, own.scale = 0, -1, scale
    own.damping = own.friction = own.armature = 0.0
    own.stop_stiffness = own.stop_damping = own.stop_transition = 0.0
    own.lower, own.upper = -np.inf, np.inf


@kernel
def _index_anew(m):
    """Give every body its places in q and v, and point everything else at them."""
    body, home, size = at.bodies(m), at.home_bodies(m), at.shape(m)
    nq = nv = 0
    for i in range(1, body.size):
        own = body[i]
        in_q, own.n_dof = _widths(own.joint)
        own.iq, own.iv = nq, nv
        nq, nv = nq + in_q, nv + own.n_dof
    size.nq, size.nv = nq, nv
    at.resize(m, nv)
    dof, home_dof = at.dofs(m), at.home_dofs(m)
    live = np.full(home_dof.size, -1)  # where the coordinates as described are now
    for i in range(1, body.size):
        own, up = body[i], body[body[i].parent]
        for k in range(own.n_dof):
            j = own.iv + k
            if _is_home(own, home[i]):
                dof[j] = home_dof[home[i].iv + k]
                live[home[i].iv + k] = j
            else:
                _free_coordinate(dof[j], at.world(m).length if k < 3 else 1.0)
            dof[j].body, dof[j].parent = i, j - 1
            if k == 0:
                dof[j].parent = up.iv + up.n_dof - 1 if own.parent > 0 else -1
    _point_anew(m, live)


@kernel
def _point_anew(m, live):
    """Point actuators, springs and couplings at their coordinates; -1 where it has been cut."""
    body, dof, term = at.bodies(m), at.dofs(m), at.terms(m)
    actuator, spring, coupling = at.actuators(m), at.springs(m), at.couplings(m)
    for k in range(actuator.size):
        if not actuator[k].on_loop:
            actuator[k].dof = live[at.home_actuators(m)[k].dof]
    for k in range(spring.size):
        own = spring[k]
        if own.type == at.ON_JOINT:
            own.dof = live[at.home_springs(m)[k].dof]
            if own.dof >= 0:
                own.iq = body[dof[own.dof].body].iq
        elif own.type == at.ON_BALL:
            own.dof = live[at.home_springs(m)[k].dof]
            if own.dof >= 0:
                carried = body[dof[own.dof].body]
                own.iq = carried.iq + own.dof - carried.iv
        elif own.type == at.ON_TENDON:
            own.dof = 0
            for t in range(own.body_1, own.body_1 + own.body_2):
                term[t].dof = live[at.home_terms(m)[t].dof]
                if term[t].dof >= 0:
                    term[t].iq = body[dof[term[t].dof].body].iq
                else:
                    own.dof = -1
    for k in range(coupling.size):
        own = coupling[k]
        own.active = at.home_couplings(m)[k].active
        for t in range(own.first, own.first + own.n_terms):
            term[t].dof = live[at.home_terms(m)[t].dof]
            if term[t].dof >= 0:
                term[t].iq = body[dof[term[t].dof].body].iq
            else:
                own.active = 0
    for k in range(at.holds(m).size):  # what holds is found anew
        own = at.holds(m)[k]
        own.active = 0
        if own.loop < 0:
            own.dof = live[own.home]
            if own.dof >= 0:
                own.iq = body[dof[own.dof].body].iq


@kernel
def _set_free(m, i):
    """Hang a body on the world by a free joint."""
    own = at.bodies(m)[i]
    own.parent, own.joint = 0, at.FREE
    own.R[:] = 0.0
    own.R[0, 0] = own.R[1, 1] = own.R[2, 2] = 1.0
    put(own.p, NO_VECTOR)


@kernel
def _set_home(m, i):
    """Join a body as it was described."""
    own, home = at.bodies(m)[i], at.home_bodies(m)[i]
    own.parent, own.joint = home.parent, home.joint
    for k in range(3):
        put_axis(own.R, k, axis(home.R, k))
    copy_to(own.p, home.p)


@kernel
def _put_quaternion(R, q, k):
    """Write the quaternion of a rotation to q[k:], by its largest element."""
    xx, yy, zz = R[0, 0], R[1, 1], R[2, 2]
    trace = xx + yy + zz
    if trace >= max(xx, yy, zz):
        x, y, z = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
        w = 1.0 + trace
    elif xx >= yy and xx >= zz:
        x, y, z = 1.0 + 2.0 * xx - trace, R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]
        w = R[2, 1] - R[1, 2]
    elif yy >= zz:
        x, y, z = R[0, 1] + R[1, 0], 1.0 + 2.0 * yy - trace, R[1, 2] + R[2, 1]
        w = R[0, 2] - R[2, 0]
    else:
        x, y, z = R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], 1.0 + 2.0 * zz - trace
        w = R[1, 0] - R[0, 1]
    length = np.sqrt(x * x + y * y + z * z + w * w)
    q[k], q[k + 1], q[k + 2], q[k + 3] = x / length, y / length, z / length, w / length


@kernel
def _reindex(m, skip, q, v, q_new, v_new):
    """Index everything anew after joint `skip` has changed; carry the state of all others over."""
    body = at.bodies(m)
    old_iq, old_iv = body['iq'].copy(), body['iv'].copy()
    _index_anew(m)
    build_clusters(m)
    for i in range(1, body.size):
        if i != skip:
            in_q, in_v = _widths(body[i].joint)
            for k in range(in_q):
                q_new[body[i].iq + k] = q[old_iq[i] + k]
            for k in range(in_v):
                v_new[body[i].iv + k] = v[old_iv[i] + k]


@kernel
def compute_free(m, q, v, i, q_new, v_new):
    """Cut the joint of body i from the tree; write the same state in the new coordinates."""
    placements(m, q)
    motion(m, v, at.zeros(m), 0.0)
    _set_free(m, i)
    _reindex(m, i, q, v, q_new, v_new)
    own, me = at.bodies(m)[i], at.moving(m)[i]
    put(q_new[own.iq :], add(me.p, at.totals(m).origin))
    _put_quaternion(me.R, q_new, own.iq + 3)
    put_spatial(
        v_new[own.iv :],
        rotate_back(me.R, velocity_at(me.V, me.p)),
        rotate_back(me.R, angular(me.V)),
    )


@kernel
def _joint_position(m, i, q_new):
    """
    Write the position of a body's joint that comes nearest to where the body is.

    Returns the gap [m] and the tilt [rad] that the joint cannot follow.
    """
    own, me = at.bodies(m)[i], at.moving(m)[i]
    up, k, joint = at.moving(m)[own.parent], own.iq, own.joint
    base, turned = np.empty((3, 3)), np.empty((3, 3))  # the joint at zero; the body in its axes
    for c in range(3):
        put_axis(base, c, rotate(up.R, axis(own.R, c)))
    for c in range(3):
        put_axis(turned, c, rotate_back(base, axis(me.R, c)))
    away = rotate_back(base, minus(minus(me.p, up.p), rotate(up.R, own.p)))
    angle = np.arctan2(turned[1, 0] - turned[0, 1], turned[0, 0] + turned[1, 1])
    gap, tilt = norm(away), np.arccos(min(max(turned[2, 2], -1.0), 1.0))
    if joint == at.REVOLUTE:
        law = at.dofs(m)[own.iv]
        if np.isfinite(law.lower) and np.isfinite(law.upper):
            # the whole turns that bring it nearest to the middle of its range
            middle = 0.5 * (law.lower + law.upper)
            angle += WHOLE_TURN * np.round((middle - angle) / WHOLE_TURN)
        q_new[k] = angle
    elif joint == at.PRISMATIC:
        q_new[k] = away[2]
        gap, tilt = np.hypot(away[0], away[1]), max(tilt, abs(angle))
    elif joint == at.SPHERICAL:
        _put_quaternion(turned, q_new, k)
        tilt = 0.0
    elif joint == at.FREE:
        put(q_new[k:], away)
        _put_quaternion(turned, q_new, k + 3)
        gap = tilt = 0.0
    else:  # PLANAR
        q_new[k], q_new[k + 1] = away[0], away[1]
        q_new[k + 2], q_new[k + 3] = np.cos(angle), np.sin(angle)
        gap = abs(away[2])
    return gap, tilt


@kernel
def compute_home(m, q, v, i, q_new, v_new):
    """
    Join body i to the tree again as it was described, and let the connection catch the motion.

    Writes the new state; returns a status, and the gap [m] and tilt [rad] that were closed.
    """
    placements(m, q)
    motion(m, v, at.zeros(m), 0.0)
    _set_home(m, i)
    _reindex(m, i, q, v, q_new, v_new)
    gap, tilt = _joint_position(m, i, q_new)
    before = at.totals(m).origin.copy()
    placements(m, q_new)
    shift = minus(at.totals(m).origin, before)
    for me in at.moving(m):  # as the bodies moved before, at the origin as it is now
        put_spatial(me.V, velocity_at(me.V, shift), angular(me.V))
    solve_constraints(m, q_new, at.zeros(m), False)
    return nearest_motion(m, v_new), gap, tilt


@kernel
def compute_layout(m, free):
    """Set bodies free or join them as flagged, and index everything anew."""
    for i in range(1, free.size):
        if free[i]:
            _set_free(m, i)
        else:
            _set_home(m, i)
    _index_anew(m)
    build_clusters(m)
