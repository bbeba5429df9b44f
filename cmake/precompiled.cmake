# Precompiled headers: those of the standard library and of fmt, which are two thirds of what most files would read. One
# for each kind of target, because a compiler takes only one that was made with its own flags:
#
#     qkv_precompiled(TARGET library)    objects of the libraries
#     qkv_precompiled(TARGET library_hidden)    those whose symbols are hidden
#     qkv_precompiled(TARGET program)    the command, the examples, with light optimisation
#     qkv_precompiled(TARGET test_O0)    with GoogleTest, for tests compiled with -O0; test_O1: with -O1
#
# Sources include what they use all the same: -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON compiles them without.
set(QKV_PRECOMPILED_library
    <algorithm> <array> <cmath> <cstdint> <filesystem> <functional> <map> <memory> <optional> <span> <string>
    <string_view> <utility> <variant> <vector> <fmt/format.h>)
set(QKV_PRECOMPILED_library_hidden ${QKV_PRECOMPILED_library})
set(QKV_PRECOMPILED_program ${QKV_PRECOMPILED_library})
set(QKV_PRECOMPILED_test_O0 ${QKV_PRECOMPILED_library} <fstream> <sstream> <gtest/gtest.h>)
set(QKV_PRECOMPILED_test_O1 ${QKV_PRECOMPILED_test_O0})

function(qkv_precompiled target kind)
  set(owner qkv_precompiled_${kind})
  if(NOT TARGET ${owner})
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${owner}.cc CONTENT "")
    add_library(${owner} OBJECT ${PROJECT_BINARY_DIR}/${owner}.cc)
    qkv_warnings(${owner})
    if(kind STREQUAL "library_hidden")
      target_compile_options(${owner} PRIVATE -fvisibility=hidden)
    elseif(NOT kind STREQUAL "library")
      set_target_properties(${owner} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    endif()
    target_compile_features(${owner} PUBLIC cxx_std_20)
    target_link_libraries(${owner} PRIVATE fmt::fmt)
    if(kind MATCHES "^test_(O[0-9])$")
      target_compile_options(${owner} PRIVATE -${CMAKE_MATCH_1})
      target_link_libraries(${owner} PRIVATE GTest::gtest)
    endif()
    target_precompile_headers(${owner} PRIVATE ${QKV_PRECOMPILED_${kind}})
  endif()
  if(NOT kind MATCHES "^library")
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  endif()
  if(kind STREQUAL "program")
    qkv_light_optimisation(${target})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()
