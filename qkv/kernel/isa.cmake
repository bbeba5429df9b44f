# Every source in kernel/isa/ is compiled once per instruction set, in a namespace of its own (QKV_ISA_NAMESPACE).
# On a target that is neither x86-64 nor aarch64, or with -DQKV_ISA=generic, only the generic set is built.
set(QKV_ISA_FLAGS_generic "")
set(QKV_ISA_FLAGS_avx2 -mavx2 -mfma -mf16c)
set(QKV_ISA_FLAGS_avx512 -mavx512f -mavx512bw -mavx512vl -mavx512dq -mfma -mprefer-vector-width=512)
# Sets that differ from avx2, avx512 or neon in products of bytes or of bf16 alone: only sources of isa/quantized/ or isa/bf16/ are
# compiled for them.
set(QKV_ISA_FLAGS_avx2_vnni ${QKV_ISA_FLAGS_avx2} -mavxvnni)
set(QKV_ISA_FLAGS_avx512_vnni ${QKV_ISA_FLAGS_avx512} -mavx512vnni)
set(QKV_ISA_FLAGS_avx512_bf16 ${QKV_ISA_FLAGS_avx512} -mavx512bf16)
# Every aarch64 has NEON, with fused multiply-adds.
set(QKV_ISA_FLAGS_neon "")
set(QKV_ISA_FLAGS_neon_dotprod -march=armv8.2-a+dotprod)
set(QKV_ISA_FLAGS_neon_bf16 -march=armv8.2-a+dotprod+i8mm+bf16)
set(QKV_ISA_FLAGS_amx ${QKV_ISA_FLAGS_avx512_bf16} -mavx512vnni -mamx-tile -mamx-bf16 -mamx-int8)
set(QKV_ISA_SOURCES_avx512_bf16 kernel/isa/bf16/pack.cc kernel/isa/bf16/softmax.cc kernel/isa/bf16/product_avx512.cc)
set(QKV_ISA_SOURCES_amx kernel/isa/bf16/pack.cc kernel/isa/bf16/softmax.cc kernel/isa/bf16/product_amx.cc
                        kernel/isa/quantized/int8_amx.cc)

if(QKV_ISA)
  set(isas ${QKV_ISA})
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(isas generic avx2 avx2_vnni avx512 avx512_vnni avx512_bf16 amx)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64|ARM64")
  set(isas neon neon_dotprod neon_bf16)
else()
  set(isas generic)
endif()

# With sanitizers, -O3 takes five times as long to compile as -O1, and that was half of the time of `make sanitize`. GCC fuses
# products and sums, which decides about bits, only with its expensive optimisations.
set(QKV_KERNEL_OPTIMISATION -O3)
if(QKV_SANITIZE)
  # Kernels check addresses in place (cmake/sanitizers.cmake): they run twice as fast so.
  set(QKV_KERNEL_OPTIMISATION -O1 "$<$<CXX_COMPILER_ID:GNU>:SHELL:-fexpensive-optimizations --param asan-instrumentation-with-call-threshold=7000>")
endif()

file(GLOB kernels CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/kernel/isa/*.cc)
file(GLOB quantized_kernels CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/kernel/isa/quantized/*.cc)
list(FILTER quantized_kernels EXCLUDE REGEX "_amx\\.cc$")
list(APPEND kernels ${quantized_kernels})
set(QKV_ISA_SOURCES_avx2_vnni ${quantized_kernels})
set(QKV_ISA_SOURCES_avx512_vnni ${quantized_kernels})
set(QKV_ISA_SOURCES_neon_dotprod ${quantized_kernels})
set(QKV_ISA_SOURCES_neon_bf16 ${quantized_kernels} kernel/isa/bf16/pack.cc kernel/isa/bf16/softmax.cc
                              kernel/isa/bf16/product_neon.cc)
foreach(isa IN LISTS isas)
  if(QKV_ISA_SOURCES_${isa})
    add_library(qkv_kernel_${isa} OBJECT ${QKV_ISA_SOURCES_${isa}})
  else()
    add_library(qkv_kernel_${isa} OBJECT ${kernels})
  endif()
  qkv_warnings(qkv_kernel_${isa})
  qkv_unity(qkv_kernel_${isa})
  target_include_directories(qkv_kernel_${isa} PRIVATE ${PROJECT_SOURCE_DIR})
  target_include_directories(qkv_kernel_${isa} SYSTEM PRIVATE ${QKV_RANDOM123})
  # -ffp-contract=fast: products and sums are fused wherever the instruction set can, for every compiler alike.
  target_compile_options(
    qkv_kernel_${isa} PRIVATE ${QKV_KERNEL_OPTIMISATION} -ffp-contract=fast -fno-math-errno -fno-trapping-math -fvisibility=hidden ${QKV_ISA_FLAGS_${isa}})
  target_compile_definitions(qkv_kernel_${isa} PRIVATE QKV_ISA_NAMESPACE=${isa})
  foreach(library qkv_attention qkv_attention_shared qkv_shared)
    target_sources(${library} PRIVATE $<TARGET_OBJECTS:qkv_kernel_${isa}>)
  endforeach()
  string(TOUPPER ${isa} upper)
  target_compile_definitions(qkv_attention_hidden_objects PRIVATE QKV_HAS_${upper})
endforeach()
