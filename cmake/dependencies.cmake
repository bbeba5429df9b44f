# All dependencies. script/setup installs them on Debian and Ubuntu.
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})

# Linked: cmake/qkvConfig.cmake.in finds them for users of the installed library.
find_package(fmt REQUIRED)
find_package(ZLIB REQUIRED)
find_package(SentencePiece REQUIRED)
find_package(Oniguruma REQUIRED)
find_package(utf8proc MODULE REQUIRED)
find_package(libzip MODULE REQUIRED)
find_package(yaml-cpp MODULE REQUIRED)
# Optional: without it, files compressed by zstd are an error that says so.
option(QKV_ZSTD "Read and write zstd where libzstd is found" ON)
if(QKV_ZSTD)
  find_package(zstd MODULE QUIET)
endif()

# The processes of world(): MPI, or one process. The Python package must run where no MPI is installed.
set(QKV_WITH_MPI FALSE)
if(QKV_MPI STREQUAL AUTO AND NOT QKV_PYTHON_PACKAGE OR QKV_MPI STREQUAL ON)
  set(MPI_CXX_SKIP_MPICXX TRUE)
  if(QKV_MPI STREQUAL ON)
    find_package(MPI REQUIRED COMPONENTS CXX)
  else()
    find_package(MPI QUIET COMPONENTS CXX)
  endif()
  set(QKV_WITH_MPI ${MPI_CXX_FOUND})
endif()

# Header-only, and not in the interface of the library.
find_path(QKV_RANDOM123 Random123/philox.h REQUIRED)
find_path(QKV_JSON nlohmann/json.hpp REQUIRED)
find_path(QKV_CLI11 CLI/CLI.hpp REQUIRED)
find_path(QKV_TOML toml++/toml.h REQUIRED)

if(QKV_TESTS)
  find_package(GTest REQUIRED)
endif()
if(QKV_BENCH)
  find_package(benchmark REQUIRED)
elseif(QKV_TESTS)
  find_package(benchmark QUIET)
endif()
