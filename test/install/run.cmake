# Installs the library into a folder, moves that folder, and builds and runs the project beside this file against it.
#
#     cmake -DSOURCE=... -DBUILD=... -DKIND=static|shared -P run.cmake
#
# The kind (static or shared) that was not built yet is first built in a separate folder.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "failed (${status}): ${command}")
  endif()
endfunction()

load_cache(${BUILD} READ_WITH_PREFIX built_ BUILD_SHARED_LIBS CMAKE_BUILD_TYPE CMAKE_CXX_COMPILER CMAKE_CXX_FLAGS
           CMAKE_CXX_COMPILER_LAUNCHER CMAKE_GENERATOR CMAKE_PREFIX_PATH QKV_ISA QKV_SANITIZE QKV_WERROR)
set(common -G ${built_CMAKE_GENERATOR} -DCMAKE_BUILD_TYPE=${built_CMAKE_BUILD_TYPE}
           -DCMAKE_CXX_COMPILER=${built_CMAKE_CXX_COMPILER}
           -DCMAKE_CXX_COMPILER_LAUNCHER=${built_CMAKE_CXX_COMPILER_LAUNCHER})
set(work ${BUILD}/test/install_${KIND})
file(REMOVE_RECURSE ${work}/first ${work}/prefix ${work}/consumer)

set(shared OFF)
if(KIND STREQUAL "shared")
  set(shared ON)
endif()
if((built_BUILD_SHARED_LIBS AND NOT shared) OR (shared AND NOT built_BUILD_SHARED_LIBS))
  run(${CMAKE_COMMAND} -S ${SOURCE} -B ${work}/build ${common} -DCMAKE_CXX_FLAGS=${built_CMAKE_CXX_FLAGS}
      "-DQKV_SANITIZE=${built_QKV_SANITIZE}" "-DQKV_ISA=${built_QKV_ISA}" -DQKV_WERROR=${built_QKV_WERROR}
      "-DCMAKE_PREFIX_PATH=${built_CMAKE_PREFIX_PATH}" -DQKV_TESTS=OFF -DBUILD_SHARED_LIBS=${shared})
  run(${CMAKE_COMMAND} --build ${work}/build)
  set(BUILD ${work}/build)
endif()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/first)
file(RENAME ${work}/first ${work}/prefix)
set(flags "${built_CMAKE_CXX_FLAGS} -Wall -Wextra -Werror")
if(built_QKV_SANITIZE)
  list(JOIN built_QKV_SANITIZE "," sanitizers)
  string(APPEND flags " -fsanitize=${sanitizers}")
endif()
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${work}/consumer ${common} "-DCMAKE_CXX_FLAGS=${flags}"
    "-DCMAKE_PREFIX_PATH=${work}/prefix;${built_CMAKE_PREFIX_PATH}")
run(${CMAKE_COMMAND} --build ${work}/consumer)
run(${work}/consumer/consumer)
run(${work}/prefix/bin/qkv --version)
