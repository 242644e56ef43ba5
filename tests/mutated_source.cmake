# mutated_source(file trouble NAME name SOURCE dataplane/x.cc REPLACE text BY text LIST file): a copy of a source with a
# mistake in it, for tests that must find it. Sets `file` to the copy, or `trouble` to what is to be done when the text
# does not stand there once any more; LIST is the file that names the mistake.
function(mutated_source file trouble)
  cmake_parse_arguments(PARSE_ARGV 2 MUTATION "" "NAME;SOURCE;REPLACE;BY;LIST" "")  # keeps semicolons
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${MUTATION_SOURCE})
  file(READ ${CMAKE_SOURCE_DIR}/${MUTATION_SOURCE} source)
  string(FIND "${source}" "${MUTATION_REPLACE}" first)
  string(FIND "${source}" "${MUTATION_REPLACE}" last REVERSE)
  if(first EQUAL -1 OR NOT first EQUAL last)
    set(text "'${MUTATION_REPLACE}' must stand once in ${MUTATION_SOURCE}, which has changed: in ${MUTATION_LIST}, \
give ${MUTATION_NAME} the text that stands there now and what makes the same mistake of it")
    message(WARNING "${text}")
    set(${trouble} "${text}" PARENT_SCOPE)
    return()
  endif()
  string(REPLACE "${MUTATION_REPLACE}" "${MUTATION_BY}" mutated "${source}")
  set(copy ${CMAKE_CURRENT_BINARY_DIR}/${MUTATION_NAME}.cc)
  file(GENERATE OUTPUT ${copy} CONTENT "${mutated}")
  set(${file} ${copy} PARENT_SCOPE)
endfunction()
