# Installs the library into a folder, moves that folder, and builds and runs the projects beside this file against it:
# static and shared, by CMake and by pkg-config.
#
#     cmake -DSOURCE=... -DBUILD=... -P run.cmake
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "failed (${status}): ${command}")
  endif()
endfunction()

# Fails where the output of a command matches a pattern.
function(expect_without pattern)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output)
  list(JOIN ARGN " " command)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "failed (${status}): ${command}")
  elseif(output MATCHES "${pattern}")
    message(FATAL_ERROR "'${CMAKE_MATCH_0}' in the output of ${command}")
  endif()
endfunction()

load_cache(${BUILD} READ_WITH_PREFIX built_ CMAKE_BUILD_TYPE CMAKE_CXX_COMPILER CMAKE_CXX_FLAGS
           CMAKE_CXX_COMPILER_LAUNCHER CMAKE_GENERATOR CMAKE_PREFIX_PATH QKV_SANITIZE)
set(work ${BUILD}/test/install)
file(REMOVE_RECURSE ${work}/first ${work}/prefix ${work}/attention ${work}/transformer)

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/first)
file(RENAME ${work}/first ${work}/prefix)
set(flags "${built_CMAKE_CXX_FLAGS} -Wall -Wextra -Werror")
if(built_QKV_SANITIZE)
  list(JOIN built_QKV_SANITIZE "," sanitizers)
  string(APPEND flags " -fsanitize=${sanitizers}")
endif()
foreach(project attention transformer)
  run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/${project} -B ${work}/${project} -G ${built_CMAKE_GENERATOR}
      -DCMAKE_BUILD_TYPE=${built_CMAKE_BUILD_TYPE} -DCMAKE_CXX_COMPILER=${built_CMAKE_CXX_COMPILER}
      -DCMAKE_CXX_COMPILER_LAUNCHER=${built_CMAKE_CXX_COMPILER_LAUNCHER} "-DCMAKE_CXX_FLAGS=${flags}"
      "-DCMAKE_PREFIX_PATH=${work}/prefix;${built_CMAKE_PREFIX_PATH}")
  run(${CMAKE_COMMAND} --build ${work}/${project})
  foreach(kind static shared)
    run(${work}/${project}/${project}_${kind})
  endforeach()
endforeach()
run(${work}/prefix/bin/qkv --version)

find_program(ldd ldd)
find_program(nm nm)
if(ldd AND CMAKE_HOST_SYSTEM_NAME STREQUAL Linux)
  expect_without("libz|sentencepiece|libonig|libutf8proc|libyaml|libgomp" ${ldd} ${work}/attention/attention_static)
endif()
if(nm AND CMAKE_HOST_SYSTEM_NAME STREQUAL Linux)
  file(GLOB libraries ${work}/prefix/lib*/libqkv*.so ${work}/prefix/lib/*/libqkv*.so)
  foreach(library IN LISTS libraries)
    expect_without("qkv::(kernel|internal)::[a-z_]+\\(|sentencepiece::" ${nm} -DC --defined-only ${library})
  endforeach()
endif()

find_program(pkg_config pkg-config)
file(GLOB_RECURSE pc ${work}/prefix/qkv-attention.pc)
if(pkg_config AND pc AND NOT built_QKV_SANITIZE)
  cmake_path(GET pc PARENT_PATH pc_folder)
  set(ENV{PKG_CONFIG_PATH} "${pc_folder}:$ENV{PKG_CONFIG_PATH}")
  foreach(project attention transformer)
    set(package qkv)
    if(project STREQUAL attention)
      set(package qkv-attention)
    endif()
    execute_process(COMMAND ${pkg_config} --cflags --libs ${package} OUTPUT_VARIABLE options RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
      message(FATAL_ERROR "pkg-config does not know ${package}")
    endif()
    separate_arguments(options UNIX_COMMAND "${options}")
    cmake_path(GET pc_folder PARENT_PATH library_folder)
    run(${built_CMAKE_CXX_COMPILER} -std=c++20 ${CMAKE_CURRENT_LIST_DIR}/${project}/main.cc
        -o ${work}/${project}/by_pkg_config ${options} -Wl,-rpath,${library_folder})
    run(${work}/${project}/by_pkg_config)
  endforeach()
endif()
