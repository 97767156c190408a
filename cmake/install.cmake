# Installs the public headers, libraries, presets and the command, and exports the package
# `tilecast`, so that another project can say find_package(tilecast) and link tilecast::sim, or ask
# pkg-config.
include(CMakePackageConfigHelpers)

set_target_properties(tilecast PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

set(libraries base ir hwdesc analytical schedule measured host learned training hybrid search sim)
if(with_learners)
  list(APPEND libraries learners)
endif()
list(TRANSFORM libraries PREPEND tilecast_)
install(TARGETS ${libraries} EXPORT tilecastTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tilecast)
install(FILES ${PROJECT_SOURCE_DIR}/sim/tilecast.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tilecast)
install(TARGETS tilecast RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs/devices ${PROJECT_SOURCE_DIR}/configs/kernels
        ${PROJECT_SOURCE_DIR}/configs/programs ${PROJECT_SOURCE_DIR}/configs/references ${PROJECT_SOURCE_DIR}/configs/imports
        DESTINATION ${CMAKE_INSTALL_DATADIR}/tilecast
        FILES_MATCHING PATTERN "*.yaml" PATTERN "*.hlo")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs/models
        DESTINATION ${CMAKE_INSTALL_DATADIR}/tilecast)

# The manual page is made of the command's own help while it is installed: no build waits for it.
install(CODE "execute_process(COMMAND \"${PROJECT_SOURCE_DIR}/scripts/make_docs\" \"$<TARGET_FILE:tilecast>\"
  --manual \"${PROJECT_BINARY_DIR}/tilecast.1\" COMMAND_ERROR_IS_FATAL ANY)")
install(FILES ${PROJECT_BINARY_DIR}/tilecast.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${PROJECT_SOURCE_DIR}/completions/tilecast.bash RENAME tilecast
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)

install(EXPORT tilecastTargets NAMESPACE tilecast::
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tilecast)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/tilecastConfig.cmake.in
  ${PROJECT_BINARY_DIR}/tilecastConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tilecast)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tilecastConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
set(pc_folder ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH pc_prefix ${pc_folder} ${CMAKE_INSTALL_PREFIX})  # an installed tree may be moved
set(pc_libraries ${libraries})
list(REMOVE_ITEM pc_libraries tilecast_learners)
list(REVERSE pc_libraries)
list(TRANSFORM pc_libraries PREPEND -l)
list(JOIN pc_libraries " " pc_libraries)
configure_file(${CMAKE_CURRENT_LIST_DIR}/tilecast.pc.in ${PROJECT_BINARY_DIR}/tilecast.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tilecast.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(FILES ${PROJECT_BINARY_DIR}/tilecastConfig.cmake
              ${PROJECT_BINARY_DIR}/tilecastConfigVersion.cmake
              ${CMAKE_CURRENT_LIST_DIR}/FindNettle.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tilecast)
