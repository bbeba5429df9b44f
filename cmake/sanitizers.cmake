# QKV_SANITIZE="address;undefined" or "thread": everything is built with these sanitizers, and their first finding ends the
# program. The presets dev and tsan use it.
set(QKV_SANITIZE "" CACHE STRING "sanitizers to build with: address, undefined, thread")

if(QKV_SANITIZE)
  list(JOIN QKV_SANITIZE "," sanitizers)
  add_compile_options(-fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${sanitizers})
  if("undefined" IN_LIST QKV_SANITIZE AND "address" IN_LIST QKV_SANITIZE)
    # Checks of every pointer, a third of the time of compiling: the address sanitizer reports the accesses that they are about.
    add_compile_options(-fno-sanitize=null,object-size,vptr,pointer-overflow)
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
      # Compiles in two fifths of the time: addresses are checked by calls, not by code in place. Alignment, and use of variables
      # after their block, are checked by clang alone (`make fuzz`).
      add_compile_options(-fno-sanitize=alignment -fno-sanitize-address-use-after-scope
                          "SHELL:--param asan-instrumentation-with-call-threshold=0")
    endif()
  endif()
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
endif()
