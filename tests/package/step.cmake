# Runs a command; its output is shown and stands in `said`, and a failure ends the test.
function(step what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${what} failed (${code}):\n${text}")
  endif()
  set(said "${text}" PARENT_SCOPE)
  message(STATUS "${what}: ok\n${text}")
endfunction()
