# qkv_warnings(TARGET): the warnings of every target of the project.
function(qkv_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wnon-virtual-dtor)
  # GCC 12 finds faults in std::string's own code at -O2 (its bug 105651).
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow
                                             -Wno-stringop-overread)
  endif()
  if(QKV_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()
