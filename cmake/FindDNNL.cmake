# DNNL::dnnl, the CPU part of oneDNN. Its own CMake package asks for OpenCL where it was built with a GPU runtime, as in
# Debian; nothing here touches that part.
find_path(DNNL_INCLUDE_DIR dnnl.hpp)
find_library(DNNL_LIBRARY dnnl)
mark_as_advanced(DNNL_INCLUDE_DIR DNNL_LIBRARY)

foreach(header oneapi/dnnl/dnnl_version.h dnnl_version.h)
  if(NOT DNNL_VERSION AND EXISTS "${DNNL_INCLUDE_DIR}/${header}")
    file(STRINGS "${DNNL_INCLUDE_DIR}/${header}" lines REGEX "^#define DNNL_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
    list(TRANSFORM lines REPLACE "[^0-9]*([0-9]+).*" "\\1")
    list(JOIN lines "." DNNL_VERSION)
  endif()
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(DNNL REQUIRED_VARS DNNL_LIBRARY DNNL_INCLUDE_DIR VERSION_VAR DNNL_VERSION)

if(DNNL_FOUND AND NOT TARGET DNNL::dnnl)
  add_library(DNNL::dnnl UNKNOWN IMPORTED)
  set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION "${DNNL_LIBRARY}"
                                              INTERFACE_INCLUDE_DIRECTORIES "${DNNL_INCLUDE_DIR}")
endif()
