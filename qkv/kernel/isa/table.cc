#include "qkv/kernel/isa/functions.h"
#include "qkv/kernel/isa/panel.h"

#define QKV_TO_STRING_(x) #x
#define QKV_TO_STRING(x) QKV_TO_STRING_(x)

namespace qkv::kernel::QKV_ISA_NAMESPACE {

const Kernels& table() {
  static const Kernels all = {
      .isa = QKV_TO_STRING(QKV_ISA_NAMESPACE),
      .lanes = lanes,
      .rows = {.softmax = softmax,
               .softmax_backward = softmax_backward,
               .layer_norm = layer_norm,
               .layer_norm_backward = layer_norm_backward,
               .rms_norm = rms_norm,
               .rms_norm_backward = rms_norm_backward,
               .relu = relu,
               .gelu = gelu,
               .gelu_tanh = gelu_tanh,
               .silu = silu,
               .sigmoid = sigmoid,
               .tanh = tanh,
               .relu_backward = relu_backward,
               .gelu_backward = gelu_backward,
               .gelu_tanh_backward = gelu_tanh_backward,
               .silu_backward = silu_backward,
               .sigmoid_backward = sigmoid_backward,
               .tanh_backward = tanh_backward,
               .add = add,
               .multiply = multiply,
               .multiply_add = multiply_add,
               .scale = scale,
               .add_scaled = add_scaled,
               .dropout = dropout,
               .dropout_add = dropout_add,
               .cross_entropy = cross_entropy,
               .adam = adam,
               .sum = sum,
               .sum_of_squares = sum_of_squares,
               .add_rows = add_rows,
               .embed = embed},
      .attention = {.products = float_products(),
                    .bf16 = nullptr,
                    .single = single_query(),
                    .single_bf16 = single_query_bf16(),
                    .single_softmax_step = single_softmax_step,
                    .transpose_in = transpose_in,
                    .transpose_out = transpose_out,
                    .mask = mask,
                    .softmax_step = softmax_step,
                    .weights = weights,
                    .softmax_backward = tile_softmax_backward,
                    .dot_rows = dot_rows,
                    .dot_rows_bf16 = dot_rows_bf16,
                    .additive_memory = additive_memory,
                    .additive = additive,
                    .additive_backward = additive_backward,
                    .distance = distance,
                    .distance_backward = distance_backward},
      .multi_token = {.convolve = convolve,
                      .correlate = correlate,
                      .clear = clear,
                      .maximum = column_maximum,
                      .exponentials = column_exponentials,
                      .scale = scale_columns,
                      .dot_columns = dot_columns,
                      .dot_all_heads = dot_all_heads},
      .matmul = {.width = panel_width,
                 .rows = tile_rows,
                 .multiply = multiply_panel,
                 .pack = pack_panel,
                 .pack_rows = pack_rows},
  };
  return all;
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
