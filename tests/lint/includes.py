"""What a source or header uses stands in what it includes, itself or by headers of ours: where many sources are compiled at a time,
the includes of one serve the next, and a compiler finds nothing amiss. Names are looked for by their spelling: of the standard
library those below, of ours the types of headers outside the tests that mean one thing everywhere. Prints what is missing; exit
status 1."""

import pathlib
import re
import subprocess
import sys

# Of a name after `std::` the headers one of which must be there.
STANDARD = {
    "array": "array", "atomic": "atomic", "bit_cast": "bit", "bit_ceil": "bit", "countr_zero": "bit", "has_single_bit": "bit",
    "bitset": "bitset", "call_once": "mutex", "condition_variable": "condition_variable", "deque": "deque",
    "error_code": "system_error filesystem", "exception_ptr": "exception", "filesystem": "filesystem", "function": "functional",
    "from_chars": "charconv", "ifstream": "fstream", "ofstream": "fstream",
    "isfinite": "cmath", "iota": "numeric", "accumulate": "numeric", "lround": "cmath", "llround": "cmath", "sqrt": "cmath",
    "pow": "cmath", "log2": "cmath", "map": "map", "multimap": "map", "mutex": "mutex", "lock_guard": "mutex",
    "unique_lock": "mutex", "scoped_lock": "mutex", "mt19937": "random", "mt19937_64": "random", "memory_order_relaxed": "atomic",
    "make_shared": "memory", "make_unique": "memory", "shared_ptr": "memory", "unique_ptr": "memory", "weak_ptr": "memory",
    "memcpy": "cstring", "memcmp": "cstring", "memset": "cstring", "strerror": "cstring",
    "numeric_limits": "limits", "optional": "optional", "nullopt": "optional", "ostream": "ostream iosfwd iostream sstream fstream",
    "priority_queue": "queue", "queue": "queue", "printf": "cstdio", "fflush": "cstdio", "fopen": "cstdio",
    "set": "set", "multiset": "set", "span": "span", "sort": "algorithm", "stable_sort": "algorithm", "min": "algorithm",
    "max": "algorithm", "clamp": "algorithm", "fill": "algorithm", "string": "string", "to_string": "string",
    "string_view": "string_view string", "stringstream": "sstream", "ostringstream": "sstream", "istringstream": "sstream",
    "system": "cstdlib", "getenv": "cstdlib", "thread": "thread", "this_thread": "thread", "tuple": "tuple", "tie": "tuple",
    "unordered_map": "unordered_map", "unordered_set": "unordered_set", "variant": "variant", "visit": "variant",
    "vector": "vector", "runtime_error": "stdexcept", "is_same_v": "type_traits concepts", "chrono": "chrono",
    "complex": "complex", "list": "list", "regex": "regex", "future": "future", "jthread": "thread", "latch": "latch",
    "barrier": "barrier",
}
# Of a word without `std::`.
PLAIN = {
    **dict.fromkeys(("uint8_t", "uint16_t", "uint32_t", "uint64_t", "int8_t", "int16_t", "int32_t", "int64_t"), "cstdint"),
    # All that defines it without a namespace, of those that are used here.
    "size_t": "cstddef algorithm cstring cstdlib cstdio string vector map memory functional array filesystem string_view "
    "sstream fstream unordered_map set deque random thread mutex optional variant iostream stddef.h gtest/gtest.h gmock/gmock.h",
}
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])\'', re.S)
INCLUDE = re.compile(r'^#include (?:"([^"]+)"|<([^>]+)>)', re.M)
WITHIN = re.compile(r"(?:^ +|[;{}] *)(?:class|struct|enum class|enum|using) (\w+)", re.M)
OF_SOURCE = re.compile(r"\b(?:class|struct|enum class|enum|using) (\w+)|^TEST\w*\((\w+)", re.M)
TYPE = re.compile(r"^(?:class|struct|enum class) (?:alignas\([^)]*\) )?(\w+)(?: final)?(?: : [^{;]*)? \{", re.M)


class Source:
    def __init__(self, name):
        text = pathlib.Path(name).read_text(encoding="utf-8")
        found = INCLUDE.findall(text)
        self.ours = [ours for ours, _ in found if ours]
        self.others = {other for _, other in found if other}
        self.code = COMMENT_OR_TEXT.sub(" ", re.sub(r"^#include.*$", "", text, flags=re.M))


def reached(name, sources):
    """The files of ours that `name` includes, itself among them."""
    seen, left = {name}, [name]
    while left:
        for ours in sources[left.pop()].ours:
            if ours in sources and ours not in seen:
                seen.add(ours)
                left.append(ours)
    return seen


def main():
    names = subprocess.run(["git", "ls-files", "*.cc", "*.h"], check=True, capture_output=True, text=True).stdout.split()
    sources = {name: Source(name) for name in names}
    home = {}
    for name in names:
        if name.endswith(".h") and not name.startswith("tests/"):
            for kind in TYPE.findall(sources[name].code):
                home.setdefault(kind, set()).add(name)
    # Names that also stand for something else, within a type or a source, say nothing.
    for name, source in sources.items():
        for kinds in (WITHIN if name.endswith(".h") else OF_SOURCE).finditer(source.code):
            for kind in kinds.groups():
                home.pop(kind, None)
    status = 0
    for name in names:
        code, files = sources[name].code, reached(name, sources)
        others = set().union(*(sources[file].others for file in files))
        missing = {}
        for match in re.finditer(r"\bstd::(\w+)", code):
            wanted = STANDARD.get(match[1])
            if wanted and others.isdisjoint(wanted.split()):
                missing.setdefault(wanted.split()[0], match)
        for match in re.finditer(r"(?<![:\w])(\w+)\b", code):
            wanted = PLAIN.get(match[1])
            if wanted and others.isdisjoint(wanted.split()):
                missing.setdefault(wanted.split()[0], match)
        for match in re.finditer(r"(?<![\w.>])([A-Z]\w+)\b", code):
            places = home.get(match[1])
            if places and not name.startswith("tests/") and files.isdisjoint(places) and not re.search(rf"\b(?:class|struct) {match[1]}\b", code):
                missing.setdefault(min(places), match)
        for header, match in missing.items():
            print(f"{name}: {match[0]}: {header} is not included", file=sys.stderr)
            status = 1
    return status


sys.exit(main())
