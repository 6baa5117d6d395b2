"""
Clusters: sets of joints that loops and couplings tie together.

A loop ties the joints on the way between its two ends, up to their nearest common ancestor. Loops
that share a joint belong together; a joint on no loop is a cluster of its own. Each cluster hangs
on one body outside it, so clusters form a tree again, and dynamics runs along that tree: dense
algebra stays inside a cluster, and a long mechanism of small loops costs in proportion to its
length. Only connecting and cutting changes the clusters.
"""

from .layout import (
    BODY_I,
    CARRIES,
    CLUSTER,
    CLUSTER_BODIES,
    CLUSTER_BODY,
    CLUSTER_CHOSEN,
    CLUSTER_COUPLING,
    CLUSTER_COUPLINGS,
    CLUSTER_DOF,
    CLUSTER_DOFS,
    CLUSTER_I,
    CLUSTER_LOOP,
    CLUSTER_LOOPS,
    CLUSTER_N_BODIES,
    CLUSTER_N_COUPLINGS,
    CLUSTER_N_DOFS,
    CLUSTER_N_LOOPS,
    CLUSTER_N_ROWS,
    CLUSTER_PARENT,
    CLUSTER_RANK,
    CLUSTER_SCRATCH,
    CLUSTER_WIDTH,
    COUPLING_ACTIVE,
    COUPLING_CLUSTER,
    COUPLING_I,
    COUPLING_N_TERMS,
    COUPLING_ROW,
    COUPLING_TERM,
    DOF_ABOVE,
    DOF_BODY,
    DOF_DEPENDENT,
    DOF_I,
    DOF_LOCAL,
    DOF_PARENT,
    FULL_RANK,
    IV,
    LOOP_ACTIVE,
    LOOP_BODY_1,
    LOOP_BODY_2,
    LOOP_CLUSTER,
    LOOP_I,
    LOOP_MODE,
    LOOP_N_ROWS,
    LOOP_ROW,
    LOOP_TOP,
    N_BODIES,
    N_CLUSTERS,
    N_CONTACTS,
    N_COUPLINGS,
    N_DOF,
    N_LOOPS,
    N_ROWS,
    PARENT,
    SLIDE,
    STICK,
    TERM_DOF,
    TERM_I,
    kernel,
    table,
)


@kernel
def common_ancestor(body_i, a, b):
    """Return the nearest common ancestor; a child always has the larger number."""
    while a != b:
        if a > b:
            a = body_i[a, PARENT]
        else:
            b = body_i[b, PARENT]
    return a


@kernel
def _leader(body_i, b):
    """Return the first body of the set that b belongs to."""
    while body_i[b, CLUSTER] != b:
        b = body_i[b, CLUSTER]
    return b


@kernel
def _tie(body_i, b, top):
    """Put all bodies from b up to, and without, `top` into one set; the smallest number leads."""
    first = b
    while b != top:
        x, y = _leader(body_i, first), _leader(body_i, b)
        if x < y:
            body_i[y, CLUSTER] = x
        else:
            body_i[x, CLUSTER] = y
        b = body_i[b, PARENT]


@kernel
def _join(body_i, a, b):
    x, y = _leader(body_i, a), _leader(body_i, b)
    body_i[max(x, y), CLUSTER] = min(x, y)


@kernel
def _tie_coupling(mi, k):
    """Tie all joints of a coupling, and the joints between them, together."""
    body_i, dof_i = table(mi, mi, BODY_I), table(mi, mi, DOF_I)
    coupling, term_i = table(mi, mi, COUPLING_I)[k], table(mi, mi, TERM_I)
    first = coupling[COUPLING_TERM]
    last = first + coupling[COUPLING_N_TERMS]
    anchor = dof_i[term_i[first, TERM_DOF], DOF_BODY]
    top = anchor
    for t in range(first, last):
        top = common_ancestor(body_i, top, dof_i[term_i[t, TERM_DOF], DOF_BODY])
    for t in range(first, last):  # the joint of the ancestor itself may be a term
        if dof_i[term_i[t, TERM_DOF], DOF_BODY] == top:
            top = body_i[top, PARENT]
            break
    for t in range(first, last):
        body = dof_i[term_i[t, TERM_DOF], DOF_BODY]
        _tie(body_i, body, top)
        _join(body_i, anchor, body)


@kernel
def _number_clusters(mi):
    """Replace leaders by consecutive numbers, and open a row for each cluster."""
    body_i, cluster_i = table(mi, mi, BODY_I), table(mi, mi, CLUSTER_I)
    n, count = mi[N_BODIES], 0
    for i in range(1, n):  # leaders come before their followers
        if body_i[i, CLUSTER] == i:
            cluster_i[count, :] = 0
            cluster_i[count, CLUSTER_PARENT] = body_i[i, PARENT]
            body_i[i, CLUSTER] = -1 - count
            count += 1
        else:
            leader = i
            while body_i[leader, CLUSTER] >= 0:
                leader = body_i[leader, CLUSTER]
            body_i[i, CLUSTER] = body_i[leader, CLUSTER]
    for i in range(1, n):
        body_i[i, CLUSTER] = -1 - body_i[i, CLUSTER]
    mi[N_CLUSTERS] = count


@kernel
def _assign_rows(mi):
    """Give every active loop and coupling its rows of J_C and its cluster."""
    body_i, dof_i = table(mi, mi, BODY_I), table(mi, mi, DOF_I)
    cluster_i = table(mi, mi, CLUSTER_I)
    loop_i, coupling_i = table(mi, mi, LOOP_I), table(mi, mi, COUPLING_I)
    rows = 0
    mi[N_CONTACTS] = 0
    for k in range(mi[N_LOOPS]):
        loop = loop_i[k]
        loop[LOOP_CLUSTER], loop[LOOP_ROW] = -1, rows
        if loop[LOOP_ACTIVE] and loop[LOOP_N_ROWS] > 0:
            top = common_ancestor(body_i, loop[LOOP_BODY_1], loop[LOOP_BODY_2])
            loop[LOOP_TOP] = top
            end = loop[LOOP_BODY_1] if loop[LOOP_BODY_1] != top else loop[LOOP_BODY_2]
            if end != top:  # both ends on one body: no joint moves the loop
                loop[LOOP_CLUSTER] = body_i[end, CLUSTER]
                cluster_i[loop[LOOP_CLUSTER], CLUSTER_N_LOOPS] += 1
                cluster_i[loop[LOOP_CLUSTER], CLUSTER_N_ROWS] += loop[LOOP_N_ROWS]
                if loop[LOOP_MODE] == SLIDE or loop[LOOP_MODE] == STICK:
                    mi[N_CONTACTS] += 1
                    cluster_i[loop[LOOP_CLUSTER], CLUSTER_WIDTH] = 1  # contact forces wanted
            rows += loop[LOOP_N_ROWS]
    for k in range(mi[N_COUPLINGS]):
        coupling = coupling_i[k]
        coupling[COUPLING_CLUSTER], coupling[COUPLING_ROW] = -1, rows
        if coupling[COUPLING_ACTIVE]:
            dof = table(mi, mi, TERM_I)[coupling[COUPLING_TERM], TERM_DOF]
            c = body_i[dof_i[dof, DOF_BODY], CLUSTER]
            coupling[COUPLING_CLUSTER] = c
            cluster_i[c, CLUSTER_N_COUPLINGS] += 1
            cluster_i[c, CLUSTER_N_ROWS] += 1
            rows += 1
    for c in range(mi[N_CLUSTERS]):
        cluster_i[c, CLUSTER_WIDTH] *= cluster_i[c, CLUSTER_N_ROWS]
    mi[N_ROWS] = rows


@kernel
def _fill_lists(mi):
    """List bodies, degrees of freedom, loops and couplings cluster by cluster."""
    body_i, dof_i = table(mi, mi, BODY_I), table(mi, mi, DOF_I)
    cluster_i = table(mi, mi, CLUSTER_I)
    bodies, dofs = table(mi, mi, CLUSTER_BODIES)[0], table(mi, mi, CLUSTER_DOFS)[0]
    for i in range(1, mi[N_BODIES]):
        c = body_i[i, CLUSTER]
        cluster_i[c, CLUSTER_N_BODIES] += 1
        cluster_i[c, CLUSTER_N_DOFS] += body_i[i, N_DOF]
    body = dof = loop = coupling = scratch = 0
    for c in range(mi[N_CLUSTERS]):
        row = cluster_i[c]
        row[CLUSTER_BODY], row[CLUSTER_DOF] = body, dof
        row[CLUSTER_LOOP], row[CLUSTER_COUPLING] = loop, coupling
        row[CLUSTER_SCRATCH], row[CLUSTER_CHOSEN], row[CLUSTER_RANK] = scratch, 0, 0
        body, dof = body + row[CLUSTER_N_BODIES], dof + row[CLUSTER_N_DOFS]
        loop, coupling = loop + row[CLUSTER_N_LOOPS], coupling + row[CLUSTER_N_COUPLINGS]
        # J_C with its bias, M, A, and eight numbers a coordinate: see `closed_chain.py`
        n, m = row[CLUSTER_N_DOFS], row[CLUSTER_N_ROWS]
        row[CLUSTER_WIDTH] += n + 1
        scratch += m * row[CLUSTER_WIDTH] + 2 * n * n + 8 * n + 1
        row[CLUSTER_N_BODIES] = row[CLUSTER_N_DOFS] = 0
        row[CLUSTER_N_LOOPS] = row[CLUSTER_N_COUPLINGS] = 0
    for i in range(1, mi[N_BODIES]):
        row = cluster_i[body_i[i, CLUSTER]]
        bodies[row[CLUSTER_BODY] + row[CLUSTER_N_BODIES]] = i
        row[CLUSTER_N_BODIES] += 1
        for j in range(body_i[i, IV], body_i[i, IV] + body_i[i, N_DOF]):
            dofs[row[CLUSTER_DOF] + row[CLUSTER_N_DOFS]] = j
            dof_i[j, DOF_LOCAL], dof_i[j, DOF_DEPENDENT] = row[CLUSTER_N_DOFS], 0
            above = dof_i[j, DOF_PARENT]
            if above >= 0 and body_i[dof_i[above, DOF_BODY], CLUSTER] != body_i[i, CLUSTER]:
                above = -1
            dof_i[j, DOF_ABOVE] = above
            row[CLUSTER_N_DOFS] += 1


@kernel
def _list_constraints(mi):
    cluster_i = table(mi, mi, CLUSTER_I)
    loop_i, coupling_i = table(mi, mi, LOOP_I), table(mi, mi, COUPLING_I)
    loops, couplings = table(mi, mi, CLUSTER_LOOPS), table(mi, mi, CLUSTER_COUPLINGS)
    for k in range(mi[N_LOOPS]):
        if loop_i[k, LOOP_CLUSTER] >= 0:
            row = cluster_i[loop_i[k, LOOP_CLUSTER]]
            loops[0, row[CLUSTER_LOOP] + row[CLUSTER_N_LOOPS]] = k
            row[CLUSTER_N_LOOPS] += 1
    for k in range(mi[N_COUPLINGS]):
        if coupling_i[k, COUPLING_CLUSTER] >= 0:
            row = cluster_i[coupling_i[k, COUPLING_CLUSTER]]
            couplings[0, row[CLUSTER_COUPLING] + row[CLUSTER_N_COUPLINGS]] = k
            row[CLUSTER_N_COUPLINGS] += 1


@kernel
def build_clusters(mi):
    """Find the clusters of the present structure; after loading, connecting and cutting."""
    body_i, loop_i = table(mi, mi, BODY_I), table(mi, mi, LOOP_I)
    for i in range(mi[N_BODIES]):
        body_i[i, CLUSTER] = i
    for k in range(mi[N_LOOPS]):
        if loop_i[k, LOOP_ACTIVE] and loop_i[k, LOOP_N_ROWS] > 0:
            a, b = loop_i[k, LOOP_BODY_1], loop_i[k, LOOP_BODY_2]
            top = common_ancestor(body_i, a, b)
            _tie(body_i, a, top)
            _tie(body_i, b, top)
            if a != top and b != top:
                _join(body_i, a, b)
    for k in range(mi[N_COUPLINGS]):
        if table(mi, mi, COUPLING_I)[k, COUPLING_ACTIVE]:
            _tie_coupling(mi, k)
    _number_clusters(mi)
    _assign_rows(mi)
    _fill_lists(mi)
    _list_constraints(mi)
    for i in range(mi[N_BODIES]):
        body_i[i, CARRIES] = 0
    for c in range(mi[N_CLUSTERS]):
        b = table(mi, mi, CLUSTER_I)[c, CLUSTER_PARENT]
        while b > 0 and not body_i[b, CARRIES]:
            body_i[b, CARRIES], b = 1, body_i[b, PARENT]
    mi[FULL_RANK] = 0  # the largest rank seen in this structure, not known yet
