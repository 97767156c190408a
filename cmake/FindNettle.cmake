# Finds Nettle (SHA-1, with the processor's instructions for it): the target Nettle::nettle, of the
# static library where there is one, for a shared one costs every start.
find_path(NETTLE_INCLUDE_DIR nettle/sha1.h)
find_library(NETTLE_LIBRARY NAMES libnettle.a nettle)
mark_as_advanced(NETTLE_INCLUDE_DIR NETTLE_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Nettle REQUIRED_VARS NETTLE_LIBRARY NETTLE_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install Nettle with its headers (Debian: apt-get install nettle-dev)")
if(Nettle_FOUND AND NOT TARGET Nettle::nettle)
  add_library(Nettle::nettle UNKNOWN IMPORTED)
  set_target_properties(Nettle::nettle PROPERTIES IMPORTED_LOCATION ${NETTLE_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${NETTLE_INCLUDE_DIR})
endif()
