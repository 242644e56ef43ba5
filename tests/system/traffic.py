"""What a set of traces must move, derived from the traces and the definitions of the algorithms alone.

Sizes are in whole elements. The rules that both sides follow:
  scaling   bytes x scale, rounded up to whole elements (scaled_size in emulator/workload/workload.h)
  division  part i of n has elements // n elements, the first elements % n parts one more
            (emulator/collective/partition.h)
  input     comm_size is the input of one rank; all-gather sends it n - 1 times, the others send parts of it
"""

import fractions
import json

import chakra


def scaled(size, scale, element):
    """`size` bytes times `scale`, in bytes, rounded up to whole elements."""
    elements = -(-fractions.Fraction(size) * fractions.Fraction(scale) // element)
    return int(elements) * element


def parts(size, members, element):
    """Bytes of the parts into which an input is divided."""
    quotient, remainder = divmod(size // element, members)
    return [(quotient + (i < remainder)) * element for i in range(members)]


def sent_by_group(kind, size, members, element, root=0):
    """Bytes that all members together send for one collective."""
    if members == 1 or kind == chakra.BARRIER:
        return 0
    part = parts(size, members, element)
    if kind == chakra.ALL_REDUCE:  # each part goes round the ring once to be summed, once to be spread
        return 2 * (members - 1) * size
    if kind in (chakra.REDUCE_SCATTER, chakra.REDUCE_SCATTER_BLOCK):  # once, to be summed
        return (members - 1) * size
    if kind == chakra.ALL_GATHER:  # every input reaches every other member
        return members * (members - 1) * size
    if kind == chakra.ALL_TO_ALL:  # part i of every input goes to member i, which keeps its own
        return (members - 1) * sum(part)
    if kind in (chakra.REDUCE, chakra.BROADCAST, chakra.GATHER):  # all but the root send, or receive, one input
        return (members - 1) * size
    if kind == chakra.SCATTER:
        return size - part[root]
    raise ValueError(f"collective {kind}")


def sent_in_parts(node, rank, scale, element):
    """Bytes that a rank sends in an all-to-all of unequal parts over all ranks; its own part stays."""
    if node.attributes["comm_type"] != chakra.ALL_TO_ALL:
        raise ValueError(f"comm_splits of collective {node.attributes['comm_type']}")
    parts = [scaled(part * element, scale, element) for part in json.loads(node.attributes["comm_splits"])]
    return sum(parts) - parts[rank]


def read_groups(path):
    with open(path, encoding="utf-8") as file:
        return {name: len(members) for name, members in json.load(file).items()}


def bytes_of(ranks, groups, element, scale):
    """Bytes that the traces of all ranks move. A collective is in the trace of each member, and counts once in all."""
    total = fractions.Fraction(0)
    for rank, nodes in enumerate(ranks):
        for node in nodes:
            if node.type not in (chakra.SEND, chakra.COLLECTIVE):
                continue
            size = scaled(node.attributes["comm_size"] * element, scale, element)
            if node.type == chakra.SEND:
                total += size
                continue
            if "comm_splits" in node.attributes:
                total += sent_in_parts(node, rank, scale, element)
                continue
            members = groups[node.attributes["pg_name"]] if "pg_name" in node.attributes else len(ranks)
            kind = node.attributes.get("comm_type", chakra.ALL_REDUCE)
            total += fractions.Fraction(sent_by_group(kind, size, members, element), members)
    if total.denominator != 1:
        raise ValueError("some member of a group lacks a collective that the others have")
    return int(total)
