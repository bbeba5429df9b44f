# qkv_embed(TARGET HEADER NAME...): adds a source to the target that defines the string_views NAME..., declared in HEADER.
# Each has the bytes of the files that the variable NAME lists, one after another.
function(qkv_embed target header)
  cmake_path(GET header STEM name)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
  set(files "")
  set(definitions "")
  list(JOIN ARGN "," names)
  foreach(list IN LISTS ARGN)
    list(APPEND files ${${list}})
    list(JOIN ${list} "," joined)
    list(APPEND definitions "-D${list}=${joined}")
  endforeach()
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${source} -DHEADER=${header} -DNAMES=${names} ${definitions}
            -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${source})
endfunction()
