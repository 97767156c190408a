# Installs this build, then configures, builds and runs outside/ against it.
include(${CMAKE_CURRENT_LIST_DIR}/step.cmake)
file(REMOVE_RECURSE ${SCRATCH})
step("install" ${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${SCRATCH}/prefix)
# Every public header on its own.
file(GLOB_RECURSE headers RELATIVE ${SCRATCH}/prefix/include ${SCRATCH}/prefix/include/*.h)
foreach(header ${headers})
  string(MAKE_C_IDENTIFIER ${header} name)
  file(WRITE ${SCRATCH}/headers/${name}.cpp "#include <${header}>\n#include <${header}>\n")
endforeach()
step("configure" ${CMAKE_COMMAND} -S ${OUTSIDE} -B ${SCRATCH}/build -G ${GENERATOR}
     -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix -DHEADERS=${SCRATCH}/headers)
step("build" ${CMAKE_COMMAND} --build ${SCRATCH}/build)
# Its answer is the installed command's.
step("run" ${CMAKE_COMMAND} -E env --unset=TILECAST_DEVICES
     ${SCRATCH}/build/outside ${PROGRAMS}/mlp_train.hlo)
string(STRIP "${said}" answer)
step("simulate" ${CMAKE_COMMAND} -E env --unset=TILECAST_DEVICES
     ${SCRATCH}/prefix/bin/tilecast simulate --device tpu_v3 ${PROGRAMS}/mlp_train.hlo)
string(FIND "${said}" "${answer}" at)
if(at EQUAL -1)
  message(FATAL_ERROR "the program says '${answer}', the command does not")
endif()
