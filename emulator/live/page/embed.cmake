# Writes OUT, the source of what emulator/live/live_page.h has of files: HTML, STYLE and SCRIPT as texts of the program.
#   cmake -DOUT=live_files.cc -DHTML=live.html -DSTYLE=live.css -DSCRIPT=live.js -P embed.cmake
cmake_minimum_required(VERSION 3.25)

# What stands in `<script>` and `<style>` is not escaped: these would end the element, or the text in the program.
function(read_into text file forbidden)
  file(READ ${file} content)
  if("${content}" MATCHES "${forbidden}|\\)page\"")
    message(FATAL_ERROR "${file} has \"${CMAKE_MATCH_0}\", which cannot stand in a page")
  endif()
  set(${text} "${content}" PARENT_SCOPE)
endfunction()

read_into(html ${HTML} "<script")
read_into(style ${STYLE} "</[sS]|<!--")
read_into(script ${SCRIPT} "</[sS]|<!--")
file(WRITE ${OUT} "#include \"emulator/live/live_page.h\"

namespace rankwire {

std::string_view live_body() {
  return R\"page(${html})page\";
}

std::string_view live_style() {
  return R\"page(${style})page\";
}

std::string_view live_script() {
  return R\"page(${script})page\";
}

}  // namespace rankwire
")
