# qkv_light_optimisation(TARGET): for what computes next to nothing itself but calls the kernels. In release builds GCC takes two
# thirds of the time of -O2 for it; loops over numbers are vectorized all the same.
function(qkv_light_optimisation target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE "$<$<CONFIG:Release>:-O1;-ftree-loop-vectorize>")
  endif()
endfunction()
