# The public headers are those that qkv/qkv.h includes (for qkv::attention: qkv/attention.h). What is installed is these and
# what they include: QKV_HEADERS.

# qkv_included_headers(RESULT HEADER...): these headers of the project and all that they include, directly or not.
function(qkv_included_headers result)
  set(found)
  set(open ${ARGN})
  while(open)
    list(POP_FRONT open header)
    if(header IN_LIST found)
      continue()
    endif()
    list(APPEND found ${header})
    set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${header})
    file(STRINGS ${PROJECT_SOURCE_DIR}/${header} includes REGEX "^#include \"qkv/")
    list(TRANSFORM includes REPLACE "^#include \"([^\"]+)\".*" "\\1")
    list(APPEND open ${includes})
  endwhile()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

qkv_included_headers(QKV_HEADERS qkv/qkv.h)
