# The beginning of a test of a mistake: builds TARGET in BUILD, unless mutated_source found TROUBLE.
if(TROUBLE)
  message(FATAL_ERROR "${TROUBLE}")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} --target ${TARGET} -j 2
  RESULT_VARIABLE built OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(built)
  message(FATAL_ERROR "${TARGET} does not build:\n${output}")
endif()
