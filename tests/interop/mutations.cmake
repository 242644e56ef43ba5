# Mistakes in what VerbsTransport tells a NIC: verbs_wire must see each on the wire.
include(${CMAKE_SOURCE_DIR}/tests/mutated_source.cmake)

# verbs_mutation(name CASE test SOURCE dataplane/x.cc REPLACE text BY text): a rankwire that is wrong so, and the case of
# verbs_wire_test.py that must fail with it.
function(verbs_mutation name)
  cmake_parse_arguments(PARSE_ARGV 1 MUTATION "" "CASE;SOURCE;REPLACE;BY" "")
  set(test interop.mutation.${name})
  set(script ${CMAKE_CURRENT_SOURCE_DIR}/interop/mutation.cmake)
  mutated_source(file trouble NAME ${name} SOURCE ${MUTATION_SOURCE}
    REPLACE "${MUTATION_REPLACE}" BY "${MUTATION_BY}" LIST tests/interop/mutations.cmake)
  if(trouble)
    add_test(NAME ${test} COMMAND ${CMAKE_COMMAND} "-DTROUBLE=${trouble}" -P ${script})
  else()
    set(target verbs_mutation_${name})
    set(folder ${CMAKE_BINARY_DIR}/mutations/${name})
    # Before the library, whose own version of the file is then not looked for.
    add_executable(${target} EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/emulator/main.cc ${file})
    target_link_libraries(${target} PRIVATE rankwire_emulator_cli)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME rankwire RUNTIME_OUTPUT_DIRECTORY ${folder})
    add_test(NAME ${test} COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DBUILD=${CMAKE_BINARY_DIR} -DTARGET=${target}
      -DPYTHON=${Python3_EXECUTABLE} -DTEST=${CMAKE_CURRENT_SOURCE_DIR}/interop/verbs_wire_test.py
      -DCASE=Wire.${MUTATION_CASE} -P ${script})
    set_tests_properties(${test} PROPERTIES SKIP_REGULAR_EXPRESSION "OK \\(skipped="
      ENVIRONMENT "RANKWIRE_INTEROP_BUILD=${folder};RANKWIRE_SOURCE=${CMAKE_SOURCE_DIR}")
  endif()
  set_tests_properties(${test} PROPERTIES LABELS long TIMEOUT 900 RUN_SERIAL ON)
endfunction()

# The kernel then chooses the source port.
verbs_mutation(flow_label_is_not_set CASE test_settings SOURCE dataplane/verbs/api_ibv.cc
  REPLACE "grh.flow_label = path.flow_label;"
  BY "grh.flow_label = 0;")
verbs_mutation(traffic_class_lacks_the_dscp CASE test_settings SOURCE dataplane/verbs/api_ibv.cc
  REPLACE "grh.traffic_class = path.traffic_class;"
  BY "grh.traffic_class = path.traffic_class & 3;")
verbs_mutation(messages_are_not_segmented CASE test_settings SOURCE dataplane/verbs/options.cc
  REPLACE "options_.max_message.value_or(UINT64_MAX)"
  BY "UINT64_MAX")
verbs_mutation(retries_are_always_seven CASE test_retries SOURCE dataplane/verbs/api_ibv.cc
  REPLACE "attributes.retry_cnt = path.retry_count;"
  BY "attributes.retry_cnt = 7;")
verbs_mutation(time_out_is_an_eighth CASE test_retries SOURCE dataplane/verbs/api_ibv.cc
  REPLACE "attributes.timeout = path.timeout_exponent;"
  BY "attributes.timeout = path.timeout_exponent - 3;")
