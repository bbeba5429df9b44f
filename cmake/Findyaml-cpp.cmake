# yaml-cpp::yaml-cpp: YAML. Packages before version 0.8 have another name of the target.
find_path(yaml-cpp_INCLUDE_DIR yaml-cpp/yaml.h)
find_library(yaml-cpp_LIBRARY yaml-cpp)
mark_as_advanced(yaml-cpp_INCLUDE_DIR yaml-cpp_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(yaml-cpp REQUIRED_VARS yaml-cpp_LIBRARY yaml-cpp_INCLUDE_DIR)

if(yaml-cpp_FOUND AND NOT TARGET yaml-cpp::yaml-cpp)
  add_library(yaml-cpp::yaml-cpp UNKNOWN IMPORTED)
  set_target_properties(yaml-cpp::yaml-cpp PROPERTIES IMPORTED_LOCATION "${yaml-cpp_LIBRARY}"
                                                      INTERFACE_INCLUDE_DIRECTORIES "${yaml-cpp_INCLUDE_DIR}")
endif()
