# Writes OUT, the source of emulator/report/page_files.h: STYLE (a file) and SCRIPTS (a list of files, put after each
# other) as texts of the program.
#   cmake -DOUT=page_files.cc -DSTYLE=style.css "-DSCRIPTS=a.js;b.js" -P embed.cmake
cmake_minimum_required(VERSION 3.25)

# What stands in `<script>` and `<style>` is not escaped: these would end the element, or the text in the program.
function(read_into text file)
  file(READ ${file} content)
  if("${content}" MATCHES "</[sS]|<!--|\\)page\"")
    message(FATAL_ERROR "${file} has \"${CMAKE_MATCH_0}\", which cannot stand in a page")
  endif()
  set(${text} "${content}" PARENT_SCOPE)
endfunction()

read_into(style ${STYLE})
set(script "")
foreach(file ${SCRIPTS})
  read_into(part ${file})
  string(APPEND script "${part}\n")
endforeach()
file(WRITE ${OUT} "#include \"emulator/report/page_files.h\"

namespace rankwire {

std::string_view page_style() {
  return R\"page(${style})page\";
}

std::string_view page_script() {
  return R\"page(${script})page\";
}

}  // namespace rankwire
")
