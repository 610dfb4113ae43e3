"""What SARSOP throws away: α-vectors and sampled beliefs that nothing needs any more."""

from pomdplite.compile.jit import Flags, Ints, Small, kernel
from pomdplite.planners.sarsop import search as av
from pomdplite.planners.sarsop.search import EDGES, GROUPS, NODES, NOW, PAIRS, VECTORS, Nodes, Problem, Scratch, Vectors


@kernel
def reached(p: Problem, t: Nodes, s: Scratch, flags: Flags, stack: Small) -> None:
    """Flag the nodes that actions which may be optimal lead to."""
    flags[0] = True
    count = 1
    stack[0] = 0
    while count > 0:
        count -= 1
        node = stack[count]
        if t.edge[node] < 0:
            continue
        av.look_ahead(p, t, s, node)
        x = t.state[node]
        best = t.low[node]
        for i in range(p.graph.first[x + 1] - p.graph.first[x]):
            best = max(best, s.q_low[i])
        base = t.edge[node] - p.first_edge[p.first[x]]
        for edge in range(p.first_edge[p.first[x]], p.first_edge[p.first[x + 1]]):
            child = t.edge_child[base + edge]
            if child >= 0 and not flags[child] and s.q_high[p.pair[edge] - p.graph.first[x]] >= best:
                flags[child] = True
                stack[count] = child
                count += 1


@kernel
def prune(g: Vectors, t: Nodes, counts: Ints, flags: Flags, new: Small, first: int) -> None:
    """Drop the vectors that are best at no flagged node; `new` has -1 for each vector.

    The `first` ones stay, and what a kept vector was made of stays: then looking one step ahead is never worth less
    than a vector promises, at whatever belief, so a policy has at least its lower bound.
    """
    for node in range(flags.shape[0]):
        if flags[node]:
            av.look_own(g, t, node, counts[NOW])
            new[t.vector[node]] = 0
    for s in range(g.newest.shape[0]):
        g.newest[s] = -1
    for a in range(new.shape[0] - 1, -1, -1):  # a vector is older than those that it was used for
        if a < first:
            new[a] = 0
        elif new[a] == 0:
            for i in range(g.follow.shape[1]):
                if g.follow[a, i] >= 0:
                    new[g.follow[a, i]] = 0
    count = 0
    for a in range(new.shape[0]):
        if new[a] == 0:
            new[a] = count
            for j in range(g.value.shape[1]):
                g.value[count, j] = g.value[a, j]
            for i in range(g.follow.shape[1]):
                g.follow[count, i] = new[g.follow[a, i]] if a >= first and g.follow[a, i] >= 0 else -1
            g.state[count], g.action[count], g.made[count] = g.state[a], g.action[a], g.made[a]
            g.next[count] = g.newest[g.state[a]]
            g.newest[g.state[a]] = count
            count += 1
    counts[VECTORS] = count
    for node in range(counts[NODES]):
        if t.vector[node] >= 0:
            t.vector[node] = new[t.vector[node]]
    for edge in range(counts[EDGES]):
        if t.edge_vector[edge] >= 0:
            t.edge_vector[edge] = new[t.edge_vector[edge]]


@kernel
def thin(t: Nodes, worth: float, states: int) -> None:
    """Take from the lists the points that others imply."""
    for s in range(1, states):
        point = t.latest[s]
        while point >= 0:
            older = t.older[point]
            if av.implied(t, point, worth):
                av.unlink(t, point)
            point = older


@kernel
def forget(p: Problem, t: Nodes, counts: Ints, most: int) -> None:
    """Keep the root and the last changed points, without their edges."""
    for i in range(t.table.shape[0]):
        t.table[i] = -1
    for s in range(t.latest.shape[0]):
        t.latest[s] = -1
    linked = 0
    for node in range(counts[NODES]):
        linked += t.newer[node] != -2
    count = 0
    for node in range(counts[NODES]):
        points = t.newer[node] != -2
        linked -= points
        if node > 0 and (not points or linked >= most):
            continue
        x = t.state[node]
        t.state[count] = x
        for j in range(t.belief.shape[1]):
            t.belief[count, j] = t.belief[node, j]
        t.corner[count], t.low[count], t.vector[count] = t.corner[node], t.low[node], t.vector[node]
        t.looked[count], t.high[count], t.told[count] = t.looked[node], t.high[node], t.told[node]
        t.changed[count] = t.changed[node]
        t.edge[count] = t.group[count] = t.pair[count] = t.bin[count] = -1
        t.newer[count] = t.older[count] = -2
        t.table[av.find_node(p, t, x, t.belief[count])] = count
        if points:
            av.link_by_time(t, count)
        count += 1
    counts[NODES] = count
    counts[EDGES] = counts[GROUPS] = counts[PAIRS] = 0
