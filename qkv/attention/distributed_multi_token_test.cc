#include "qkv/attention/distributed_multi_token.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include <gtest/gtest.h>

#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/documents.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/attention/mask/window.h"
#include "qkv/base/collectives.h"
#include "qkv/base/error.h"
#include "qkv/base/run_ranks.h"
#include "qkv/test_support/check_attention.h"

namespace qkv::distributed_multi_token_test {

using namespace test;

constexpr int64_t B = 2, H = 4, G = 2, D = 6, E = 5;

Variable parameter(const Shape& shape, uint64_t seed) {
  return {random_tensor(shape, seed), {.requires_grad = true}};
}

// Parameters of a rank are its own: their gradients are those of its rows.
MultiTokenOptions with_parameters(const MultiTokenOptions& options) {
  MultiTokenOptions own = options;
  for (Variable* x : {&own.pre_conv, &own.pre_mix, &own.post_conv, &own.post_head, &own.post_mix})
    if (x->defined()) *x = Variable(x->value().clone(), {.requires_grad = true});
  return own;
}

std::vector<Variable> parameters_of(const MultiTokenOptions& options) {
  std::vector<Variable> all;
  for (const Variable* x :
       {&options.pre_conv, &options.pre_mix, &options.post_conv, &options.post_head, &options.post_mix})
    if (x->defined()) all.push_back(*x);
  return all;
}

// Gradients of sums of many products are large.
void expect_near(const Tensor& got, const Tensor& wanted, double tolerance) {
  const double largest = largest_difference(wanted, Tensor::zeros(wanted.shape()));
  EXPECT_LE(largest_difference(got, wanted), tolerance * std::max(1.0, largest));
}

struct Lengths {
  int64_t T = 150, S = 170;
};

// Compares a call over ranks with one call: out, the gradients of q, k, v and of the parameters.
void check(const MultiTokenOptions& given, const SequenceLayout& queries, const SequenceLayout& keys, int ranks) {
  const Tensor q = random_tensor({B, H, queries.length(), D}, 1), k = random_tensor({B, G, keys.length(), D}, 2),
               v = random_tensor({B, G, keys.length(), E}, 3), dout = random_tensor({B, H, queries.length(), E}, 4);
  const auto input = [](const Tensor& x) { return Variable(x, {.requires_grad = true}); };
  const MultiTokenOptions whole_options = with_parameters(given);
  const Variable whole_q = input(q), whole_k = input(k), whole_v = input(v);
  const Variable whole = multi_token_attention(whole_q, whole_k, whole_v, whole_options);
  whole.backward(dout);

  Tensor out = Tensor::zeros(whole.shape()), dq = Tensor::zeros(q.shape()), dk = Tensor::zeros(k.shape()),
         dv = Tensor::zeros(v.shape());
  std::mutex mutex;
  run_ranks(ranks, [&](Communicator& c) {
    const MultiTokenOptions options = with_parameters(given);
    const Variable own_q = input(queries.rows_of(q, 2, c.rank())), own_k = input(keys.rows_of(k, 2, c.rank())),
                   own_v = input(keys.rows_of(v, 2, c.rank()));
    const Variable y = distributed_multi_token_attention(own_q, own_k, own_v, {c, queries, keys}, options);
    y.backward(queries.rows_of(dout, 2, c.rank()));
    const std::vector<Variable> own = parameters_of(options), of_whole = parameters_of(whole_options);
    for (size_t p = 0; p < own.size(); ++p) {
      Tensor sum = own[p].grad().clone();
      all_reduce(c, sum.span<float>());
      expect_near(sum, of_whole[p].grad(), 3e-6);
    }
    const std::lock_guard lock(mutex);
    queries.put_rows(y.value(), 2, c.rank(), out);
    queries.put_rows(own_q.grad(), 2, c.rank(), dq);
    keys.put_rows(own_k.grad(), 2, c.rank(), dk);
    keys.put_rows(own_v.grad(), 2, c.rank(), dv);
  });
  expect_near(out, whole.value(), 1e-6);
  expect_near(dq, whole_q.grad(), 3e-6);
  expect_near(dk, whole_k.grad(), 3e-6);
  expect_near(dv, whole_v.grad(), 3e-6);
}

MultiTokenOptions all_steps() {
  return {.pre_conv = parameter({H, 1, 3, 5}, 5),
          .pre_mix = parameter({H, H}, 6),
          .post_conv = parameter({H, 1, 4, 3}, 7),
          .post_head = parameter({H / 2, 2, 2}, 8)};
}

const SequenceLayout uneven_queries({{0, 1, 2}, {1, 3, 0}, {3, 70, 1}, {70, 71, 0}, {71, 150, 2}});
const SequenceLayout uneven_keys({{0, 100, 1}, {100, 100, 0}, {100, 101, 2}, {101, 170, 1}});

void check_layouts(const MultiTokenOptions& options) {
  const Lengths n;
  for (const int ranks : {2, 3, 4}) {
    SCOPED_TRACE(ranks);
    check(options, contiguous_layout(n.T, ranks), contiguous_layout(n.S, ranks), ranks);
    check(options, zigzag_layout(n.T, ranks), zigzag_layout(n.S, ranks), ranks);
  }
  check(options, uneven_queries, uneven_keys, 3);
}

Tensor ids(int64_t length) {
  std::vector<int32_t> all;
  for (int64_t b = 0; b < B; ++b)
    for (int64_t i = 0; i < length; ++i) all.push_back(static_cast<int32_t>((i + 13 * b) / 40));
  return Tensor::from(all, {B, length});
}

TEST(DistributedMultiToken, HasTheResultsOfOneCallForEveryMask) {
  for (const MaskPtr& mask :
       {MaskPtr(), causal(), window(9, 2), causal() & window(30, 0), documents(ids(150), ids(170)),
        padding(Tensor::from(std::vector<int32_t>{0, 90}, {B}))}) {
    SCOPED_TRACE(mask ? mask->name() : "no mask");
    MultiTokenOptions options = all_steps();
    options.mask = mask;
    check_layouts(options);
  }
}

TEST(DistributedMultiToken, HasTheResultsOfOneCallForEveryStep) {
  const MultiTokenOptions all = all_steps();
  for (const MultiTokenOptions& steps :
       {MultiTokenOptions{}, MultiTokenOptions{.pre_conv = all.pre_conv, .pad_key = PadKey::left},
        MultiTokenOptions{.pre_mix = all.pre_mix}, MultiTokenOptions{.post_conv = all.post_conv},
        MultiTokenOptions{.post_mix = all.pre_mix, .scale = 0.7f}}) {
    MultiTokenOptions options = steps;
    options.mask = causal();
    check_layouts(options);
  }
}

TEST(DistributedMultiToken, DropsThePairsOfOneCall) {
  MultiTokenOptions options = all_steps();
  options.mask = causal();
  options.dropout = {.rate = 0.4, .seed = 3, .stream = 2};
  check_layouts(options);
}

TEST(DistributedMultiToken, SendsTheHaloAndWhatItsMaskLetsQueriesSee) {
  constexpr int ranks = 4;
  constexpr int64_t T = 256, window_size = 10, halo = 2 + 3;
  const SequenceLayout layout = contiguous_layout(T, ranks);
  const MultiTokenOptions options = {.pre_conv = parameter({H, 1, 3, 5}, 5),
                                     .post_conv = parameter({H, 1, 4, 3}, 7),
                                     .mask = window(window_size, 0)};
  int64_t forward = 0, backward = 0, preparation = 0;
  std::mutex mutex;
  run_ranks(ranks, [&](Communicator& c) {
    const auto own = [&](int64_t heads, int64_t width) {
      return Variable(layout.rows_of(random_tensor({B, heads, T, width}, 1), 2, c.rank()), {.requires_grad = true});
    };
    // Without queries nothing but the preparation is sent.
    const SequenceLayout empty(std::vector<SequenceBlock>{});
    const Variable nothing(Tensor::zeros({B, H, 0, D}), {.requires_grad = true}), k = own(G, D), v = own(G, E);
    distributed_multi_token_attention(nothing, k, v, {c, empty, layout}, options);
    const int64_t first = c.bytes_sent();
    const Variable y = distributed_multi_token_attention(own(H, D), k, v, {c, layout, layout}, options);
    const int64_t second = c.bytes_sent();
    y.backward(Tensor::full(y.shape(), 1.0f));
    const std::lock_guard lock(mutex);
    preparation += first;
    forward += second - first;
    backward += c.bytes_sent() - second;
  });
  const int64_t rows = (ranks - 1) * B * (halo * H * D + (window_size + halo) * G * (D + E));
  // The preparation of a rank with queries also sends each other rank a range.
  EXPECT_EQ(forward - preparation - ranks * (ranks - 1) * static_cast<int64_t>(sizeof(KeyRange)), 4 * rows);
  EXPECT_EQ(backward, 2 * 4 * rows);
}

TEST(DistributedMultiToken, ComputesBf16InF32) {
  const SequenceLayout layout = zigzag_layout(64, 2);
  const Tensor q = random_tensor({B, H, 64, D}, 1).to(DType::bf16),
               k = random_tensor({B, G, 64, D}, 2).to(DType::bf16),
               v = random_tensor({B, G, 64, E}, 3).to(DType::bf16);
  MultiTokenOptions options = all_steps();
  options.mask = causal();
  const Tensor whole = multi_token_attention(q, k, v, options).value();
  run_ranks(2, [&](Communicator& c) {
    const auto own = [&](const Tensor& x) {
      return Variable(layout.rows_of(x, 2, c.rank()), {.requires_grad = true});
    };
    const Variable own_q = own(q);
    const Variable y =
        distributed_multi_token_attention(own_q, own(k), own(v), {c, layout, layout}, with_parameters(options));
    EXPECT_EQ(y.value().dtype(), DType::bf16);
    EXPECT_LT(largest_difference(y.value().to(DType::f32), layout.rows_of(whole, 2, c.rank()).to(DType::f32)),
              0.02);
    y.backward(Tensor::full(y.shape(), 1.0f).to(DType::bf16));
    EXPECT_EQ(own_q.grad().dtype(), DType::bf16);
  });
}

TEST(DistributedMultiToken, RefusesWhatRanksCannotDo) {
  const SequenceLayout layout = contiguous_layout(8, 2);
  run_ranks(2, [&](Communicator& c) {
    const Variable q = Tensor::zeros({1, 2, 4, 4});
    const auto call = [&](Distribution distribution, const MultiTokenOptions& options, const Variable& x) {
      distributed_multi_token_attention(x, q, q, {c, layout, layout, distribution}, options);
    };
    EXPECT_THROW(call(Distribution::heads, {}, q), UsageError);
    EXPECT_THROW(call(Distribution::ring, {.history = 1}, q), UsageError);
    EXPECT_THROW(call(Distribution::ring, {}, Tensor::zeros({1, 2, 3, 4})), Error);
    const MultiTokenOptions different = {.post_conv = Tensor::zeros({2, 1, 1 + c.rank(), 1})};
    EXPECT_THROW(call(Distribution::ring, different, q), Error);
  });
}

}  // namespace qkv::distributed_multi_token_test
