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
set(example ${OUTSIDE}/../../../configs/examples/estimate.cpp)
step("configure" ${CMAKE_COMMAND} -S ${OUTSIDE} -B ${SCRATCH}/build -G ${GENERATOR} -DEXAMPLE=${example}
     -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix -DHEADERS=${SCRATCH}/headers)
step("build" ${CMAKE_COMMAND} --build ${SCRATCH}/build)
# The same without CMake.
find_program(PKG_CONFIG pkg-config REQUIRED)  # scripts/packages: serve
file(GLOB_RECURSE module ${SCRATCH}/prefix/*/tilecast.pc)
cmake_path(GET module PARENT_PATH modules)
step("pkg-config" ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${modules}
     ${PKG_CONFIG} --cflags --libs tilecast)
separate_arguments(flags UNIX_COMMAND "${said}")
step("compile" ${CXX} -std=c++20 ${example} ${flags} -o ${SCRATCH}/by_pkg_config)
# Both say what the installed command says; the variables tell them where the prefix was moved to.
set(share ${SCRATCH}/prefix/share/tilecast)
set(tilecast ${CMAKE_COMMAND} -E env TILECAST_DEVICES=${share}/devices TILECAST_MODELS=${share}/models)
set(program ${PROGRAMS}/mlp_train.hlo)
step("simulate" ${tilecast} ${SCRATCH}/prefix/bin/tilecast simulate --device tpu_v3 ${program})
set(answer "${said}")
foreach(outside build/outside by_pkg_config)
  step("run" ${tilecast} ${SCRATCH}/${outside} tpu_v3 ${program})
  if(NOT said STREQUAL answer)
    message(FATAL_ERROR "${outside} says\n${said}\nthe command\n${answer}")
  endif()
endforeach()
