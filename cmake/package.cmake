# What `cpack` makes of an installation: a Debian package whose dependencies dpkg-shlibdeps finds.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tilecast)
set(CPACK_PACKAGE_VENDOR "The Tilecast authors")
set(CPACK_PACKAGE_CONTACT "The Tilecast authors <tilecast@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
  "Predicts how long a tensor program (HLO, StableHLO, ONNX) runs on an accelerator that a YAML file\n\
 describes, and says why: a pipelined analytical model, corrected by what was measured.\n\
 The package holds the command, presets of TPUs, GPUs and a CPU, example programs, and the\n\
 libraries with their headers and CMake package.")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
include(CPack)
