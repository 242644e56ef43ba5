#!/usr/bin/env bash
# Libraries stay in their rooms. (Rooms among each other are kept apart by the include directories of their targets.)
set -euo pipefail
cd "$(dirname "$0")/../.."
status=0

# only PATTERN WHERE...: includes that match PATTERN are allowed in files that match one of WHERE.
only() {
  local pattern=$1
  shift
  local allowed
  allowed=$(IFS='|'; echo "$*")
  local found
  found=$(git grep -nE "#include [<\"]($pattern)" -- '*.cc' '*.h' | grep -vE "^($allowed)" || true)
  if [ -n "$found" ]; then
    echo "includes of $pattern belong in ($allowed) alone:" >&2
    echo "$found" >&2
    status=1
  fi
}

only 'rte_' 'dataplane/dpdk/[a-z_]*\.cc' 'dataplane/dpdk/(device|mbuf|pattern)\.h' 'tests/'
only 'infiniband/' 'dataplane/verbs/' 'tests/'
only 'mpi\.h' 'emulator/machines/launch_mpi\.cc'
only 'yaml-cpp/' 'emulator/input/' 'tests/input/'
only 'sqlite3' 'emulator/record/' 'tests/'
only 'google/protobuf' 'proto/' 'emulator/grpc/model\.cc' 'tests/'
only 'gnmi\.pb' 'emulator/gnmi/'
only 'grpc' 'emulator/(grpc/grpc_server|gnmi/gnmi_client)\.cc'
only 'proto/' 'proto/' 'feeder/' 'examples/' 'emulator/workload/' 'emulator/traces/' 'emulator/input/' 'emulator/assembly/' 'converters/' 'tests/'
only 'CLI/' 'emulator/cli/' 'tests/'
only 'spdlog/' 'base/log\.cc'
only 'zlib\.h' 'proto/' 'tests/'
only 'zstd\.h' 'proto/' 'tests/'
only 'openssl/' 'emulator/traces/pseudonyms\.cc' 'emulator/serve/digest\.cc' 'emulator/live/tls\.' 'tests/'
only 'expat\.h' 'converters/msccl_text\.cc' 'tests/'
only 'httplib' 'emulator/live/' 'emulator/serve/(live_client|rest_server)\.cc' 'tests/live/'
only 'prometheus/' 'emulator/live/'
only 'simdjson' 'proto/' 'converters/' 'tests/'
only '\.\.' 'nowhere'

# So that every build shows that these headers stand alone.
for source in $(git ls-files '*.cc'); do
  header=${source%.cc}.h
  [ -f "$header" ] || continue
  first=$(grep -m 1 '^#include' "$source")
  if [ "$first" != "#include \"$header\"" ]; then
    echo "$source includes $header, its own header, first of all" >&2
    status=1
  fi
done

# One namespace: two types of one name would be one to the linker.
twice=$(git ls-files '*.h' ':!tests' | xargs sed -nE 's/^(class|struct|enum class) (alignas\([^)]*\) )?([A-Za-z0-9]+)( final)?( :[^:].*)? \{.*/\3/p' | sort | uniq -d)
if [ -n "$twice" ]; then
  echo "types of the same name in two headers:" $twice >&2
  status=1
fi

feature_switches=$(git grep -nE '^\s*#\s*(if|ifdef|ifndef)\b' -- '*.cc' '*.h' | grep -vE '__SANITIZE|__has_' || true)
if [ -n "$feature_switches" ]; then
  echo "features are files chosen by CMake, not preprocessor switches:" >&2
  echo "$feature_switches" >&2
  status=1
fi

# The tests' own namespace is rankwire::testing: where both are seen, as in a build of many sources at a time, testing:: is it.
shadowed=$(git grep -nE '(^|[^:[:alnum:]_])testing::(Message|Test|TestWithParam|Values|ValuesIn|Range|Combine|Bool|TempDir|UnitTest|TestInfo|AssertionResult|AssertionSuccess|AssertionFailure|HasSubstr|StartsWith|Not|Return|Invoke|InitGoogle[A-Z][a-z]*|[A-Z][A-Za-z]*(Are|With|Regex|Near|Eq))\b' -- 'tests/*.cc' 'tests/*.h' || true)
if [ -n "$shadowed" ]; then
  echo "GoogleTest's namespace is written ::testing:" >&2
  echo "$shadowed" >&2
  status=1
fi
exit $status
