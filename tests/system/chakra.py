"""Chakra execution traces (schema 0.0.4 and 1.0.0), read and written from the protobuf wire format alone.

Shares nothing with the program under test: the framing is a varint length before each message, message 0 may be a
GlobalMetadata, all others are Nodes (mlcommons/chakra, schema/protobuf/et_def.proto).
"""

import dataclasses
import pathlib
import struct

METADATA, COMPUTE, SEND, RECEIVE, COLLECTIVE = 1, 4, 5, 6, 7
ALL_REDUCE, REDUCE, ALL_GATHER, GATHER, SCATTER, BROADCAST, ALL_TO_ALL, REDUCE_SCATTER = range(8)
REDUCE_SCATTER_BLOCK, BARRIER = 8, 9

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_STRING_VALUE, _STRING_LIST, _INT64_VALUE, _BOOL_VALUE = 29, 30, 9, 27


@dataclasses.dataclass
class Node:
    """One node; `attributes` maps a name to an integer, truth value or text, or to None where it is of another kind."""

    id: int = 0
    name: str = ""
    type: int = COMPUTE
    dependencies: list = dataclasses.field(default_factory=list)  # data_deps
    duration_us: int = 0
    attributes: dict = dataclasses.field(default_factory=dict)
    start_us: int = 0
    inputs: str = ""  # values of the inputs, only written


def _varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def _fields(data):
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
        elif wire == _LENGTH:
            length, at = _varint(data, at)
            value, at = data[at : at + length], at + length
        elif wire in (_FIXED64, _FIXED32):
            length = 8 if wire == _FIXED64 else 4
            value, at = int.from_bytes(data[at : at + length], "little"), at + length
        else:
            raise ValueError(f"wire type {wire} of field {number}")
        yield number, wire, value


def _frames(data):
    at = 0
    while at < len(data):
        length, at = _varint(data, at)
        if at + length > len(data):
            raise ValueError("truncated")
        yield data[at : at + length]
        at += length


def _attribute(data):
    name, value = "", None
    for number, wire, field in _fields(data):
        if number == 1:
            name = field.decode()
        elif number == _STRING_VALUE:
            value = field.decode()
        elif wire == _VARINT:
            value = field
    return name, value


def _node(frame):
    node = Node(type=0)
    for number, wire, value in _fields(frame):
        if number == 1:
            node.id = value
        elif number == 2:
            node.name = value.decode()
        elif number == 3:
            node.type = value
        elif number == 5:
            node.dependencies += [value] if wire == _VARINT else _packed(value)
        elif number == 6:
            node.start_us = value
        elif number == 7:
            node.duration_us = value
        elif number == 10:
            name, attribute = _attribute(value)
            node.attributes[name] = attribute
    return node


def _packed(data):
    values, at = [], 0
    while at < len(data):
        value, at = _varint(data, at)
        values.append(value)
    return values


def _is_metadata(frame):
    # A GlobalMetadata has fields 1 and 2 only, both of wire type LEN; a Node has a varint id or type.
    return all(wire == _LENGTH and number <= 2 for number, wire, _ in _fields(frame))


def read(path):
    """The nodes of one file, in file order."""
    frames = list(_frames(pathlib.Path(path).read_bytes()))
    if frames and _is_metadata(frames[0]):
        frames = frames[1:]
    return [_node(frame) for frame in frames]


def read_oldest_collectives(path):
    """(kind, size) of each collective of a file of schema 0.0.1, which has nodes alone (chakra, eg_def.proto of df405e8)."""
    kinds = {1: "all_reduce", 2: "all_to_all", 3: "all_gather", 4: "reduce_scatter"}
    for frame in _frames(pathlib.Path(path).read_bytes()):
        values = {number: value for number, wire, value in _fields(frame) if wire == _VARINT}
        if values[3] == 6:  # the type of collectives
            yield kinds[values[13]], values[18]


def read_ranks(prefix):
    """The nodes of PREFIX.0.et, PREFIX.1.et, ... as a list by rank."""
    ranks = []
    while pathlib.Path(f"{prefix}.{len(ranks)}.et").exists():
        ranks.append(read(f"{prefix}.{len(ranks)}.et"))
    return ranks


def _encoded(value):
    encoded = bytearray()
    value &= 2**64 - 1  # of a negative number, its two's complement
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(encoded) + struct.pack("B", value)


def _field(number, value):
    if isinstance(value, int):
        return _encoded(number << 3 | _VARINT) + _encoded(value)
    data = value.encode() if isinstance(value, str) else value
    return _encoded(number << 3 | _LENGTH) + _encoded(len(data)) + data


def _encoded_attribute(name, value):
    if isinstance(value, list):
        return _field(1, name) + _field(_STRING_LIST, b"".join(_field(1, text) for text in value))
    number = _BOOL_VALUE if isinstance(value, bool) else _STRING_VALUE if isinstance(value, str) else _INT64_VALUE
    return _field(1, name) + _field(number, value)


def _encoded_node(node):
    message = _field(1, node.id) + _field(2, node.name) + _field(3, node.type)
    if node.dependencies:
        message += _field(5, b"".join(_encoded(dependency) for dependency in node.dependencies))
    if node.start_us:
        message += _field(6, node.start_us)
    if node.duration_us:
        message += _field(7, node.duration_us)
    if node.inputs:
        message += _field(8, _field(1, node.inputs))
    for name, value in node.attributes.items():
        message += _field(10, _encoded_attribute(name, value))
    return message


def write(path, nodes, metadata=None):
    """Writes the nodes, behind metadata with these attributes."""
    attributes = [_field(2, _encoded_attribute(name, value)) for name, value in (metadata or {}).items()]
    messages = [_field(1, "0.0.4") + b"".join(attributes)] + [_encoded_node(node) for node in nodes]
    pathlib.Path(path).write_bytes(b"".join(_encoded(len(message)) + message for message in messages))


def write_ranks(prefix, ranks, metadata=None):
    """Writes PREFIX.<rank>.et for the list of nodes of each rank."""
    for rank, nodes in enumerate(ranks):
        write(f"{prefix}.{rank}.et", nodes, metadata)


def collective(kind, size, id=0, after=(), name="collective", group=None, root=None, splits=None):
    """A collective whose input is `size` bytes, over all ranks where no group is named."""
    node = Node(id, name, COLLECTIVE, list(after), 0, {"comm_type": kind, "comm_size": size})
    if group is not None:
        node.attributes["pg_name"] = group
    if root is not None:
        node.attributes["root"] = root
    if splits is not None:
        node.attributes["comm_splits"] = str(splits)
    return node
