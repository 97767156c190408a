# Puts the page of `tilecast report` into a source file: the files of sim/report/page and D3, which
# is taken from the system (Debian: node-d3) and is not part of this repository.
#
#   report_page(OUTPUT page_parts.cpp HTML page.html CSS page.css SCRIPTS a.js b.js)
#
# Also a script: cmake -DOUTPUT=... -DHTML=... -DCSS=... -DSCRIPTS=a.js;b.js -DD3=... -P this
if(NOT CMAKE_SCRIPT_MODE_FILE)
  find_file(TILECAST_D3 d3.min.js
            PATHS /usr/share/nodejs/d3/dist /usr/lib/nodejs/d3/dist NO_DEFAULT_PATH
            DOC "D3 version 7, minified; without it `tilecast report` says so")
  set(TILECAST_REPORT_PAGE_CMAKE ${CMAKE_CURRENT_LIST_FILE})
  function(report_page)
    cmake_parse_arguments(ARG "" "OUTPUT;HTML;CSS" "SCRIPTS" ${ARGN})
    set(d3 ${TILECAST_D3})
    if(NOT d3)
      set(d3 "")
      message(WARNING "D3 was not found (Debian: node-d3): `tilecast report` will not work")
    endif()
    add_custom_command(
      OUTPUT ${ARG_OUTPUT}
      COMMAND ${CMAKE_COMMAND} -DOUTPUT=${ARG_OUTPUT} -DHTML=${ARG_HTML} -DCSS=${ARG_CSS}
              "-DSCRIPTS=${ARG_SCRIPTS}" -DD3=${d3} -P ${TILECAST_REPORT_PAGE_CMAKE}
      DEPENDS ${ARG_HTML} ${ARG_CSS} ${ARG_SCRIPTS} ${d3} ${TILECAST_REPORT_PAGE_CMAKE}
      COMMENT "Embedding the page of tilecast report" VERBATIM)
  endfunction()
  return()
endif()

# As a constant: raw strings, whose length nothing limits with g++ and clang.
function(append_text name)
  set(text "")
  foreach(path ${ARGN})
    file(READ "${path}" part)
    string(APPEND text "${part}")
  endforeach()
  string(FIND "${text}" ")tilecast\"" clash)
  if(NOT clash EQUAL -1)
    message(FATAL_ERROR "${ARGN}: holds the end of the raw string that it is put into")
  endif()
  file(APPEND "${OUTPUT}.new" "constexpr std::string_view ${name} = R\"tilecast(${text})tilecast\";\n")
endfunction()

file(WRITE "${OUTPUT}.new" "// Made by cmake/report_page.cmake.\n#include \"sim/report/page.h\"\n
namespace tilecast::sim::report {\nnamespace {\n\n")
append_text(kHtml "${HTML}")
append_text(kCss "${CSS}")
append_text(kScript ${SCRIPTS})
append_text(kD3 ${D3})
file(APPEND "${OUTPUT}.new" "\n}  // namespace\n
PageParts page_parts() {\n  return {.html = kHtml, .css = kCss, .script = kScript, .d3 = kD3};\n}\n
}  // namespace tilecast::sim::report\n")
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
