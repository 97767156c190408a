# Run by the package test: cmake -DBUILD_DIR= -DSCRATCH= -DOUTSIDE= ... -P install_and_build.cmake
function(step what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${what} failed (${code}):\n${text}")
  endif()
  message(STATUS "${what}: ok\n${text}")
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
step("install" ${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${SCRATCH}/prefix)
step("configure" ${CMAKE_COMMAND} -S ${OUTSIDE} -B ${SCRATCH}/build -G ${GENERATOR}
     -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix)
step("build" ${CMAKE_COMMAND} --build ${SCRATCH}/build)
step("run" ${CMAKE_COMMAND} -E env --unset=TILECAST_DEVICES
     ${SCRATCH}/build/outside ${PROGRAMS}/mlp_train.hlo)
step("installed command" ${SCRATCH}/prefix/bin/tilecast --version)
