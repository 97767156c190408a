# Makes the .deb, unpacks it elsewhere and simulates a shipped program with the shipped presets.
include(${CMAKE_CURRENT_LIST_DIR}/step.cmake)
find_program(DPKG_DEB dpkg-deb REQUIRED)
file(REMOVE_RECURSE ${SCRATCH})
file(MAKE_DIRECTORY ${SCRATCH})
step("cpack" ${CMAKE_COMMAND} -E chdir ${SCRATCH} ${CMAKE_CPACK_COMMAND} --config ${BUILD_DIR}/CPackConfig.cmake
     -B ${SCRATCH})
file(GLOB package ${SCRATCH}/*.deb)
step("contents" ${DPKG_DEB} --info ${package})
step("unpack" ${DPKG_DEB} -x ${package} ${SCRATCH}/root)
set(tilecast ${CMAKE_COMMAND} -E env --unset=TILECAST_DEVICES --unset=TILECAST_MODELS
    ${SCRATCH}/root/usr/bin/tilecast)
step("simulate" ${CMAKE_COMMAND} -E chdir ${SCRATCH} ${tilecast} simulate --device tpu_v3
     root/usr/share/tilecast/programs/mlp_train.hlo)
foreach(file bin/tilecast share/man/man1/tilecast.1 share/bash-completion/completions/tilecast
             share/tilecast/devices/tpu_v3.yaml share/tilecast/models/tpu/model.yaml)
  if(NOT EXISTS ${SCRATCH}/root/usr/${file})
    message(FATAL_ERROR "the package has no ${file}")
  endif()
endforeach()
