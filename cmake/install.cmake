# `make install`: the command in bin, the libraries in lib, the public headers in include/qkv, the CMake package, the files of
# pkg-config, in share/doc/qkv the licences, in share the manual page and the completion scripts. No file contains the path of the
# installation, so the folder may be moved.
include(CMakePackageConfigHelpers)

set(CMAKE_INSTALL_MESSAGE NEVER)  # no line for each of the headers

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/qkv)
install(TARGETS qkv_attention qkv_attention_shared EXPORT qkvAttention)
install(TARGETS qkv qkv_shared EXPORT qkv)
if(QKV_COMMAND)
  install(TARGETS qkv_cli)
  if(NOT CMAKE_CROSSCOMPILING)
    set(share ${PROJECT_BINARY_DIR}/cli/share)
    install(FILES ${share}/qkv.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${share}/qkv.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME qkv)
    install(FILES ${share}/_qkv DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${share}/qkv.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  endif()
endif()
foreach(header IN LISTS QKV_HEADERS)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder})
endforeach()

# The licence, and the notices of what the libraries are built of.
install(FILES LICENSE THIRD_PARTY.md sbom.spdx.json DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY LICENSES DESTINATION ${CMAKE_INSTALL_DOCDIR})

# A CMake package with two components, attention and qkv.
install(EXPORT qkvAttention NAMESPACE qkv:: FILE qkvAttentionTargets.cmake DESTINATION ${package})
install(EXPORT qkv NAMESPACE qkv:: FILE qkvTargets.cmake DESTINATION ${package})
configure_package_config_file(cmake/qkvConfig.cmake.in qkvConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(qkvConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/qkvConfig.cmake ${PROJECT_BINARY_DIR}/qkvConfigVersion.cmake
              cmake/FindSentencePiece.cmake cmake/FindOniguruma.cmake cmake/Findutf8proc.cmake
              cmake/Findlibzip.cmake cmake/Findyaml-cpp.cmake cmake/Findzstd.cmake DESTINATION ${package})

# For pkg-config: qkv-attention and qkv.
set(pc_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH prefix_from_pc /${pc_folder} /)
string(REGEX REPLACE "/$" "" prefix_from_pc "${prefix_from_pc}")
function(qkv_pkg_config pc_name pc_description pc_libs pc_private pc_libs_private)
  configure_file(cmake/qkv.pc.in ${PROJECT_BINARY_DIR}/${pc_name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${pc_name}.pc DESTINATION ${pc_folder})
endfunction()
set(mpi_flag)
if(QKV_WITH_MPI)
  set(mpi_flag " -lmpi")
endif()
set(zstd_flag)
if(zstd_FOUND)
  set(zstd_flag " -lzstd")
endif()
qkv_pkg_config(qkv-attention "Attention in all its forms" "-lqkv_attention" "" "${mpi_flag} -lstdc++ -lm -lpthread")
qkv_pkg_config(qkv "Attention, and the Transformer built on it" "-lqkv" "zlib"
               "-lqkv_attention -lsentencepiece_train -lsentencepiece -lonig -lutf8proc -lzip -lyaml-cpp${zstd_flag}${mpi_flag} -lstdc++ -lm -lpthread")
