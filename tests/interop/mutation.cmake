# Builds a wrong rankwire and runs a test of the wire with it: passes when that objects to what it sees there.
include(${CMAKE_CURRENT_LIST_DIR}/../build_mutation.cmake)
execute_process(COMMAND ${PYTHON} -B ${TEST} -v ${CASE}
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output TIMEOUT 600)
if(output MATCHES "OK \\(skipped=")
  message("${output}")
elseif(status EQUAL 1 AND output MATCHES "\n(capture.Wrong|AssertionError): ([^\n]*)")
  message("${NAME}: ${CASE} objects: ${CMAKE_MATCH_2}")
else()
  message(FATAL_ERROR "${NAME} was not caught, ${CASE} ended with ${status}:\n${output}")
endif()
