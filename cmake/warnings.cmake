# qkv_warnings(TARGET): the warnings of every target of the project.
function(qkv_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wnon-virtual-dtor)
  if(QKV_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()
