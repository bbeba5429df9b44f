# The number formats of blocks. Their bytes and the numbers in them are the same on every machine: products and sums are not
# fused, whatever the instruction set.
file(GLOB formats CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/kernel/format/*.cc)
list(FILTER formats EXCLUDE REGEX "_test\\.cc$")
add_library(qkv_kernel_format OBJECT ${formats})
qkv_warnings(qkv_kernel_format)
qkv_unity(qkv_kernel_format)
target_include_directories(qkv_kernel_format PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(qkv_kernel_format PRIVATE fmt::fmt)
target_compile_options(qkv_kernel_format PRIVATE ${QKV_KERNEL_OPTIMISATION} -ffp-contract=off -fno-math-errno -fno-trapping-math
                                                 -fvisibility=hidden)
foreach(library qkv_attention qkv_attention_shared qkv_shared)
  target_sources(${library} PRIVATE $<TARGET_OBJECTS:qkv_kernel_format>)
endforeach()
