# `make install`: the command in bin, the library in lib, the public headers in include/qkv, and the CMake package. No file
# contains the path of the installation, so the folder may be moved.
include(CMakePackageConfigHelpers)

set(CMAKE_INSTALL_MESSAGE NEVER)  # no line for each of the headers

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/qkv)
install(TARGETS qkv_attention qkv EXPORT qkv)
if(QKV_COMMAND)
  install(TARGETS qkv_cli)
endif()
install(DIRECTORY qkv DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING
        PATTERN *.h PATTERN *_test.h EXCLUDE PATTERN isa EXCLUDE)
install(EXPORT qkv NAMESPACE qkv:: FILE qkvTargets.cmake DESTINATION ${package})

configure_package_config_file(cmake/qkvConfig.cmake.in qkvConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(qkvConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/qkvConfig.cmake ${PROJECT_BINARY_DIR}/qkvConfigVersion.cmake
              cmake/FindSentencePiece.cmake DESTINATION ${package})
