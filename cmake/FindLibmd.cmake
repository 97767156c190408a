# Finds libmd (SHA-1): the target Libmd::libmd, of the static library where there is one, for a
# shared one costs every start.
find_path(LIBMD_INCLUDE_DIR sha1.h)
find_library(LIBMD_LIBRARY NAMES libmd.a md)
mark_as_advanced(LIBMD_INCLUDE_DIR LIBMD_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libmd REQUIRED_VARS LIBMD_LIBRARY LIBMD_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install libmd with its headers (Debian: apt-get install libmd-dev)")
if(Libmd_FOUND AND NOT TARGET Libmd::libmd)
  add_library(Libmd::libmd UNKNOWN IMPORTED)
  set_target_properties(Libmd::libmd PROPERTIES IMPORTED_LOCATION ${LIBMD_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${LIBMD_INCLUDE_DIR})
endif()
