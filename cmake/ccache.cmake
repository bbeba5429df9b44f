# Compilations are kept by ccache where it is installed, for the next build of the same source: -DQKV_CCACHE=OFF.
option(QKV_CCACHE "compile through ccache, if it is installed" ON)
if(QKV_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(QKV_CCACHE_PROGRAM ccache)
  if(QKV_CCACHE_PROGRAM)
    # Without this it keeps nothing that was compiled with a precompiled header.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${QKV_CCACHE_PROGRAM})
  endif()
endif()
