// The kernels of one instruction set; table.cc lists them.
#pragma once

#include <stdint.h>

#include "qkv/kernel/kernels.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

// softmax.cc
float softmax(const float* x, int64_t n, float* y);
void softmax_backward(const float* y, const float* dy, int64_t n, float* dx);

// norm.cc
void layer_norm(const float* x, const float* weight, const float* bias, int64_t n, float eps, float* y, float* mean,
                float* rstd);
void layer_norm_backward(const float* dy, const float* x, const float* weight, float mean, float rstd, int64_t n,
                         float* dx, float* dweight_sum, float* dbias_sum);
void rms_norm(const float* x, const float* weight, int64_t n, float eps, float* y, float* rstd);
void rms_norm_backward(const float* dy, const float* x, const float* weight, float rstd, int64_t n, float* dx,
                       float* dweight_sum);

// activation.cc
void relu(const float* x, int64_t n, float* y);
void relu_backward(const float* x, const float* dy, int64_t n, float* dx);
void gelu(const float* x, int64_t n, float* y);
void gelu_backward(const float* x, const float* dy, int64_t n, float* dx);
void gelu_tanh(const float* x, int64_t n, float* y);
void gelu_tanh_backward(const float* x, const float* dy, int64_t n, float* dx);
void silu(const float* x, int64_t n, float* y);
void silu_backward(const float* x, const float* dy, int64_t n, float* dx);
void sigmoid(const float* x, int64_t n, float* y);
void sigmoid_backward(const float* x, const float* dy, int64_t n, float* dx);
void tanh(const float* x, int64_t n, float* y);
void tanh_backward(const float* x, const float* dy, int64_t n, float* dx);

// elementwise.cc
void add(const float* a, const float* b, int64_t n, float* y);
void multiply(const float* a, const float* b, int64_t n, float* y);
void multiply_add(const float* a, const float* b, int64_t n, float* y);
void scale(const float* x, float s, int64_t n, float* y);
void add_scaled(const float* x, float s, int64_t n, float* y);
void add_rows(float* sum, const float* rows, int64_t count, int64_t row_stride, int64_t n);
void embed(const float* table_row, float scale, const float* position_row, int64_t n, float* y);
void adam(float* p, float* m, float* v, const float* g, int64_t n, const AdamStep& step);
void positive(const float* x, int64_t n, uint16_t* bits);
void where(const uint16_t* bits, const float* x, int64_t n, float* y);
void widen(const uint16_t* x, int64_t n, float* to);
void round_to_nearest(const float* x, int64_t n, uint16_t* to);
void round_stochastically(const float* x, int64_t n, uint32_t key, uint16_t* to);

// dropout.cc
void dropout(const float* x, int64_t n, const DropoutKey& key, int64_t first_index, float* y);
void dropout_add(const float* x, const float* residual, int64_t n, const DropoutKey& key, int64_t first_index,
                 float* y);

// loss.cc
float cross_entropy(const float* logits, int64_t n, int64_t target, float smoothing, float scale, float* dlogits);
ExponentialSum exponential_sum(const float* x, int64_t n);
float symmetric_divergence(const float* x, const float* y, int64_t n, float scale, float* dx, float* dy);

// sums.cc
double sum(const float* x, int64_t n);
double sum_of_squares(const float* x, int64_t n);
int64_t first_above(const float* x, int64_t n, float threshold);

// attention_product.cc
TileProducts float_products();

// attention_single.cc
SingleQueryKernels<float> single_query();
SingleQueryKernels<uint16_t> single_query_bf16();
SingleQueryKernels<int8_t> single_query_int8();
void single_softmax_step(float* s, int64_t n, RunningSoftmax running);

// attention_tile.cc
void transpose_in(const float* in, int64_t in_stride, int64_t rows, int64_t columns, float* out, int64_t width,
                  int64_t out_stride);
void transpose_out(const float* in, int64_t width, int64_t rows, int64_t columns, const float* scale, float* out,
                   int64_t out_stride);
void mask(float* s, int64_t keys, int64_t width, const uint64_t* visible);
void softmax_step(float* s, int64_t keys, int64_t width, RunningSoftmax running);
void weights(float* s, int64_t keys, int64_t width, const float* maximum, const float* inverse_sum);
void tile_softmax_backward(const float* weights, float* grad, int64_t keys, int64_t width, const float* delta);
void dot_rows(const float* a, int64_t a_stride, const float* b, int64_t b_stride, int64_t rows, int64_t columns,
              float* sum);
void dot_rows_bf16(const uint16_t* a, int64_t a_stride, const uint16_t* b, int64_t b_stride, int64_t rows,
                   int64_t columns, float* sum);

// attention_additive.cc
int64_t additive_memory(const AdditiveTile& t);
void additive(const AdditiveTile& t, float* s, float* memory);
void additive_backward(const AdditiveTile& t, const float* ds, const AdditiveGradients& g, float* memory);

// attention_distance.cc
void distance(const float* q, int64_t q_stride, int64_t width, const float* k, int64_t k_stride, int64_t keys,
              int64_t D, float* s);
void distance_backward(const float* q, int64_t q_stride, int64_t width, const float* k, int64_t k_stride,
                       int64_t keys, int64_t D, const float* ds, float* dq, float* dk, int64_t dk_stride);

// convolution.cc
void convolve(const Convolution& c);
void correlate(const Convolution& c, const float* grad, double* out);

// multi_token.cc
void clear(const float* s, int64_t keys, int64_t width, const uint64_t* visible, float* out);
void column_maximum(const float* s, int64_t keys, int64_t width, const uint64_t* visible, float* maximum);
void column_exponentials(float* s, int64_t keys, int64_t width, const uint64_t* visible, const float* maximum,
                         float* sum);
void scale_columns(float* s, int64_t keys, int64_t width, const float* factor);
void dot_columns(const float* a, const float* b, int64_t keys, int64_t width, float* sum);
void dot_all_heads(const HeadTiles& a, const HeadTiles& b, int64_t keys, int64_t width, double* sums);

// matmul.cc
PanelKernels<float> float_panels();
PanelKernels<uint16_t> bf16_panels();
void widen_panel(const uint16_t* panel, int64_t depth, float* floats);
void pack_rows(const float* a, int64_t column_stride, int64_t rows, int64_t depth, float* tiles);

// weight_rows.cc
WeightRowKernels<float> float_weight_rows();
WeightRowKernels<uint16_t> bf16_weight_rows();

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
