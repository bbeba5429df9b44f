# Unity builds: sources of one folder are compiled together, a few at a time, because most of what a compiler reads is headers
# that they share. The presets turn them on (CMAKE_UNITY_BUILD); -DCMAKE_UNITY_BUILD=OFF compiles each source alone.
# Names in anonymous namespaces therefore differ within a folder; sources include what they use all the same.
cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
# Groups of 64 take half of the processor time of groups of 8, but occupy few cores.
set(size 8)
if(cores LESS 8)
  set(size 64)
endif()
set(QKV_UNITY_SIZE ${size} CACHE STRING "number of sources of a folder that are compiled together")

# qkv_unity(TARGET): after all sources of the target have been added.
function(qkv_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE folder)
    cmake_path(GET folder PARENT_PATH folder)
    set(size ${QKV_UNITY_SIZE})
    if(folder STREQUAL "qkv/kernel/isa")
      set(size 8)  # their time is not that of headers
    endif()
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    if(NOT DEFINED number_in_${folder})
      set(number_in_${folder} 0)
    endif()
    math(EXPR group "${number_in_${folder}} / ${size} + 1")
    math(EXPR number_in_${folder} "${number_in_${folder}} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${group})
  endforeach()
endfunction()
