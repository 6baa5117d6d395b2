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
Clusters: sets of joints that loops, couplings and the mass of tendons tie together.

A loop ties the joints on the way between its two ends, up to their nearest common ancestor, and so
does a tendon that moves a mass. Loops that share a joint belong together; a joint on no loop is a
cluster of its own. Each cluster hangs on one body outside it, so clusters form a tree again, and
dynamics runs along that tree: dense algebra stays inside a cluster, and a long mechanism of small
loops costs in proportion to its length. Only connecting and cutting changes the clusters.
"""

from . import records as at
from .compiling import kernel
from .lanes import ROOM
from .sharing import HANDLE, NOTHING, shared_kernel


@kernel
def common_ancestor(body, a, b):
    """Return the nearest common ancestor; a child always has the larger number."""
    while a != b:
        if a > b:
            a = body[a].parent
        else:
            b = body[b].parent
    return a


@kernel
def _leader(body, b):
    """Return the first body of the set that b belongs to."""
    while body[b].cluster != b:
        b = body[b].cluster
    return b


@kernel
def _join(body, a, b):
    """Make one set of two; the smallest number leads."""
    x, y = _leader(body, a), _leader(body, b)
    body[max(x, y)].cluster = min(x, y)


@kernel
def _tie(body, b, top):
    """Put all bodies from b up to, and without, `top` into one set."""
    first = b
    while b != top:
        _join(body, first, b)
        b = body[b].parent


@kernel
def _tie_loop(m, loop):
    """Tie the joints between the two ends of a loop together."""
    body, a, b = at.bodies(m), loop.body_1, loop.body_2
    top = common_ancestor(body, a, b)
    _tie(body, a, top)
    _tie(body, b, top)
    if a != top and b != top:
        _join(body, a, b)


@kernel
def _tie_terms(m, first, n_terms):
    """Tie all joints of a coupling or tendon, and those between them, together; return one."""
    body, dof, term = at.bodies(m), at.dofs(m), at.terms(m)
    own = range(first, first + n_terms)
    anchor = dof[term[first].dof].body
    top = anchor
    for t in own:
        top = common_ancestor(body, top, dof[term[t].dof].body)
    for t in own:  # the joint of the ancestor itself may be a term
        if dof[term[t].dof].body == top:
            top = body[top].parent
            break
    for t in own:
        _tie(body, dof[term[t].dof].body, top)
        _join(body, anchor, dof[term[t].dof].body)
    return anchor


@kernel
def _tie_path(m, first, count):
    """Tie all joints that move one point of a path against another; return a body, or -1."""
    body, way, anchor = at.bodies(m), at.waypoints(m), -1
    top = way[first].body
    for t in range(first, first + count):
        top = common_ancestor(body, top, way[t].body)
    for t in range(first, first + count):
        if way[t].body != top:
            _tie(body, way[t].body, top)
            anchor = way[t].body if anchor < 0 else anchor
            _join(body, anchor, way[t].body)
    return anchor


@kernel
def _tie_tendons(m):
    """Tie the joints of every tendon that moves a mass together; note a body of each."""
    for spring in at.springs(m):
        spring.cluster = -1
        if spring.armature != 0.0 and spring.type == at.ON_PATH:
            spring.cluster = _tie_path(m, spring.body_1, spring.body_2)
        elif spring.armature != 0.0 and spring.dof >= 0:
            spring.cluster = _tie_terms(m, spring.body_1, spring.body_2)


@kernel
def _open(cluster, parent):
    """Begin an empty cluster, whose coordinates are to be chosen."""
    cluster.parent, cluster.tolerance = parent, 0.0
    cluster.n_dofs = cluster.n_bodies = cluster.n_loops = cluster.n_couplings = 0
    cluster.n_rows = cluster.rank = cluster.width = cluster.chosen = 0
    cluster.full_rank = cluster.levers = 0  # the largest seen in this structure, not known yet


@kernel
def _number_clusters(m):
    """Replace leaders by consecutive numbers, and open a record for each cluster."""
    body, cluster, count = at.bodies(m), at.clusters(m), 0
    for i in range(1, body.size):  # leaders come before their followers
        if body[i].cluster == i:
            _open(cluster[count], body[i].parent)
            body[i].cluster = -1 - count
            count += 1
        else:
            leader = i
            while body[leader].cluster >= 0:
                leader = body[leader].cluster
            body[i].cluster = body[leader].cluster
    for i in range(1, body.size):
        body[i].cluster = -1 - body[i].cluster
    at.shape(m).n_clusters = count


@kernel
def _assign_loops(m):
    """Give every active loop its rows of J_C and its cluster; return the number of rows."""
    body, cluster, size, n_rows = at.bodies(m), at.clusters(m), at.shape(m), 0
    size.n_contacts = 0
    for loop in at.loops(m):
        loop.cluster, loop.row = -1, n_rows
        if loop.active and loop.n_rows > 0:
            loop.top = common_ancestor(body, loop.body_1, loop.body_2)
            end = loop.body_1 if loop.body_1 != loop.top else loop.body_2
            if end != loop.top:  # else both ends are on one body: no joint moves the loop
                loop.cluster = body[end].cluster
                own = cluster[loop.cluster]
                own.n_loops += 1
                own.n_rows += loop.n_rows
                if loop.mode == at.SLIDE or loop.mode == at.STICK:
                    size.n_contacts += 1
                    own.width = 1  # contact forces are wanted
            n_rows += loop.n_rows
    return n_rows


@kernel
def _assign_rows(m):
    """Give every active loop and coupling its rows of J_C and its cluster."""
    body, dof, cluster = at.bodies(m), at.dofs(m), at.clusters(m)
    n_rows = _assign_loops(m)
    for coupling in at.couplings(m):
        coupling.cluster, coupling.row = -1, n_rows
        if coupling.active:
            coupling.cluster = body[dof[at.terms(m)[coupling.first].dof].body].cluster
            own = cluster[coupling.cluster]
            own.n_couplings += 1
            own.n_rows += 1
            n_rows += 1
    n_rows = _assign_holds(m, n_rows)
    for c in range(at.shape(m).n_clusters):  # with contacts: a column for every row operation
        cluster[c].width *= cluster[c].n_rows
    at.shape(m).n_rows = n_rows


@kernel
def _assign_holds(m, n_rows):
    """Give every coordinate that is held its row of J_C and its cluster; return how many rows."""
    body, dof, size = at.bodies(m), at.dofs(m), at.shape(m)
    size.n_holds = 0
    for hold in at.holds(m):
        hold.cluster, hold.row = -1, n_rows
        if hold.active and hold.loop >= 0:
            hold.cluster = at.loops(m)[hold.loop].cluster
        elif hold.active:
            hold.cluster = body[dof[hold.dof].body].cluster
        if hold.cluster < 0:
            hold.active = 0  # its joint is open
        else:
            own = at.clusters(m)[hold.cluster]
            own.n_rows += 1
            own.width = 1  # the force is wanted
            size.n_holds += 1
            n_rows += 1
    return n_rows


@kernel
def _divide_lists(m):
    """Give every cluster its share of the lists and of the scratch; empty the lists."""
    cluster, size = at.clusters(m), at.shape(m)
    for body in at.bodies(m)[1:]:
        own = cluster[body.cluster]
        own.n_bodies += 1
        own.n_dofs += body.n_dof
    first_body = first_dof = first_loop = first_coupling = scratch = 0
    for c in range(size.n_clusters):
        own = cluster[c]
        own.first_body, own.first_dof = first_body, first_dof
        own.first_loop, own.first_coupling, own.scratch = first_loop, first_coupling, scratch
        first_body, first_dof = first_body + own.n_bodies, first_dof + own.n_dofs
        first_loop, first_coupling = first_loop + own.n_loops, first_coupling + own.n_couplings
        # J_C with its bias and two numbers a row, M, A, and eight numbers a coordinate: see
        # `closed_chain.py`; rows and vectors have room for their last four numbers
        n, square = own.n_dofs, (own.n_dofs + 1 + ROOM) ** 2
        own.width += n + 1
        scratch += own.n_rows * (own.width + ROOM + 2) + 2 * square + 8 * n + 2 * ROOM + 1
        own.n_bodies = own.n_dofs = own.n_loops = own.n_couplings = 0


@kernel
def _fill_lists(m):
    """List bodies, degrees of freedom, loops and couplings cluster by cluster."""
    body, dof, cluster = at.bodies(m), at.dofs(m), at.clusters(m)
    loop, coupling = at.loops(m), at.couplings(m)
    for i in range(1, body.size):
        own = cluster[body[i].cluster]
        at.cluster_bodies(m)[own.first_body + own.n_bodies] = i
        own.n_bodies += 1
        for j in range(body[i].iv, body[i].iv + body[i].n_dof):
            at.cluster_dofs(m)[own.first_dof + own.n_dofs] = j
            dof[j].local, dof[j].dependent, dof[j].above = own.n_dofs, 0, dof[j].parent
            above = dof[j].parent
            if above >= 0 and body[dof[above].body].cluster != body[i].cluster:
                dof[j].above = -1
            own.n_dofs += 1
    for k in range(loop.size):
        if loop[k].cluster >= 0:
            own = cluster[loop[k].cluster]
            at.cluster_loops(m)[own.first_loop + own.n_loops] = k
            own.n_loops += 1
    for k in range(coupling.size):
        if coupling[k].cluster >= 0:
            own = cluster[coupling[k].cluster]
            at.cluster_couplings(m)[own.first_coupling + own.n_couplings] = k
            own.n_couplings += 1


@shared_kernel(HANDLE, returns=NOTHING)
def build_clusters(m):
    """Find the clusters of the present structure; after loading, connecting and cutting."""
    body, cluster, size = at.bodies(m), at.clusters(m), at.shape(m)
    for i in range(body.size):
        body[i].cluster, body[i].carries, body[i].ways = i, 0, 0
    for loop in at.loops(m):
        if loop.active and loop.n_rows > 0:
            _tie_loop(m, loop)
    for coupling in at.couplings(m):
        if coupling.active:
            _tie_terms(m, coupling.first, coupling.n_terms)
    if size.inner_rotors:
        _tie_tendons(m)
    _number_clusters(m)
    for spring in at.springs(m):
        if spring.cluster >= 0:
            spring.cluster = body[spring.cluster].cluster
    _assign_rows(m)
    _divide_lists(m)
    _fill_lists(m)
    for c in range(size.n_clusters):
        b = cluster[c].parent
        while b > 0 and not body[b].carries:
            body[b].carries, b = 1, body[b].parent
    size.changes += 1
    size.full_rank = 0
