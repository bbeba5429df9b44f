// Every kernel of floats gives the same bits on every instruction set that has fused multiply-adds: all but generic
// on x86-64, which rounds each product. script/test-aarch64 compares processors by the file that QKV_CHECKSUMS names.
#include <array>
#include <bit>

#include <fmt/format.h>

#include "qkv/kernel/matmul.h"
#include "qkv/kernel/row_test.h"
#include "qkv/test_support/checksum.h"

namespace qkv::kernel::instruction_sets_test {

using Results = std::vector<float>;

void append(Results& to, Row& row) { to.insert(to.end(), row.begin(), row.end()); }

// compute(kernels) on every set, compared with the first one. Sanitizers change which products and sums a compiler
// fuses: with them the kernels run, and nothing is compared.
void expect_same_on_every_set(const std::string& what, const std::function<Results(const Kernels&)>& compute) {
  Results first;
  std::string_view first_isa;
  for (const Kernels* k : all_kernels()) {
    if (k->isa == "generic") continue;
    const Results now = compute(*k);
    if (first.empty()) first = now, first_isa = k->isa;
    ASSERT_EQ(now.size(), first.size());
    if (QKV_SANITIZED) continue;
    for (size_t i = 0; i < now.size(); ++i)
      ASSERT_EQ(std::bit_cast<uint32_t>(now[i]), std::bit_cast<uint32_t>(first[i]))
          << what << ": result " << i << " is " << now[i] << " on " << k->isa << ", " << first[i] << " on "
          << first_isa;
  }
  test::write_checksum(what, first);
}

TEST(InstructionSets, RowsHaveTheSameBits) {
  for (int64_t n : widths()) {
    expect_same_on_every_set(fmt::format("rows of {}", n), [n](const Kernels& kernels) {
      const RowKernels& k = kernels.rows;
      Row x = Row::normal(n, 1, 3.0), dy = Row::normal(n, 2), weight = Row::normal(n, 3), bias = Row::normal(n, 4);
      Row y(n), dx(n), a = Row::normal(n, 5), b = Row::normal(n, 6);
      float mean, rstd;
      Results out = {k.softmax(x.data(), n, y.data())};
      k.softmax_backward(y.data(), dy.data(), n, dx.data());
      append(out, y), append(out, dx);
      k.layer_norm(x.data(), weight.data(), bias.data(), n, 1e-5f, y.data(), &mean, &rstd);
      k.layer_norm_backward(dy.data(), x.data(), weight.data(), mean, rstd, n, dx.data(), a.data(), b.data());
      append(out, y), append(out, dx), append(out, a), append(out, b);
      k.rms_norm(x.data(), weight.data(), n, 1e-5f, y.data(), &rstd);
      k.rms_norm_backward(dy.data(), x.data(), weight.data(), rstd, n, dx.data(), a.data());
      append(out, y), append(out, dx), append(out, a);
      for (const float smoothing : {0.0f, 0.1f}) {
        out.push_back(k.cross_entropy(x.data(), n, n / 2, smoothing, 0.5f, y.data()));
        append(out, y);
      }
      out.push_back(k.exponential_sum(x.data(), n).sum);
      out.push_back(k.symmetric_divergence(x.data(), dy.data(), n, 0.5f, dx.data(), a.data()));
      append(out, dx), append(out, a);
      for (const auto f : {k.relu, k.gelu, k.gelu_tanh, k.silu, k.sigmoid, k.tanh})
        f(x.data(), n, y.data()), append(out, y);
      for (const auto f : {k.relu_backward, k.gelu_backward, k.gelu_tanh_backward, k.silu_backward,
                           k.sigmoid_backward, k.tanh_backward})
        f(x.data(), dy.data(), n, y.data()), append(out, y);
      k.dropout(x.data(), n, dropout_key(1, 2, 0.3f), 5, y.data()), append(out, y);
      k.dropout_add(x.data(), dy.data(), n, dropout_key(1, 2, 0.3f), 5, y.data()), append(out, y);
      k.multiply_add(x.data(), dy.data(), n, y.data()), append(out, y);
      k.add_scaled(x.data(), 0.3f, n, y.data()), append(out, y);
      k.embed(x.data(), 1.7f, dy.data(), n, y.data()), append(out, y);
      k.add_rows(y.data(), x.data(), 1, n, n), append(out, y);
      Row m = Row::normal(n, 7), v = Row::normal(n, 8);
      k.multiply(v.data(), v.data(), n, v.data());
      k.adam(y.data(), m.data(), v.data(), dy.data(), n,
             {.lr = 1e-3, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-9, .weight_decay = 0.01});
      append(out, y), append(out, m), append(out, v);
      for (const double sum : {k.sum(x.data(), n), k.sum_of_squares(x.data(), n)}) {
        const auto bits = std::bit_cast<uint64_t>(sum);
        out.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
        out.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits >> 32)));
      }
      return out;
    });
  }
}

TEST(InstructionSets, ProductsHaveTheSameBits) {
  for (const auto& [M, N, K] : std::vector<std::array<int64_t, 3>>{{5, 7, 3}, {33, 70, 40}, {8, 20, 5000}}) {
    expect_same_on_every_set("matmul", [M, N, K](const Kernels& kernels) {
      const UseKernels use(kernels);
      Row a = Row::normal(M * K, 1), b = Row::normal(K * N, 2), bias = Row::normal(N, 3), c(M * N), packed(M * N);
      matmul({a.data(), M, K}, Matrix(b.data(), K, N), c.data(), N, {.bias = bias.data(), .relu = true});
      matmul({a.data(), M, K}, PackedMatrix(Matrix(b.data(), K, N)), packed.data(), N);
      Results out;
      append(out, c), append(out, packed);
      return out;
    });
  }
}

// A tile: `rows` of numbers by `queries`, zero in the lanes after them.
struct TileRows {
  int64_t rows, queries, width;
  Row memory;
  TileRows(const Kernels& k, int64_t r, int64_t q, uint64_t stream)
      : rows(r), queries(q), width((q + k.lanes - 1) / k.lanes * k.lanes), memory(r * width) {
    Row numbers = Row::normal(r * q, stream);
    for (int64_t j = 0; j < r; ++j)
      for (int64_t i = 0; i < width; ++i) memory[j * width + i] = i < q ? numbers[j * q + i] : 0.0f;
  }
  float* data() { return memory.data(); }
};
void append(Results& to, TileRows& tile) {
  for (int64_t j = 0; j < tile.rows; ++j)
    to.insert(to.end(), tile.data() + j * tile.width, tile.data() + j * tile.width + tile.queries);
}

constexpr int64_t all_queries[] = {1, 7, 8, 9, 20, 40, 64}, all_features[] = {1, 8, 19, 24, 40, 64};

TEST(InstructionSets, TilesHaveTheSameBits) {
  constexpr int64_t keys = 21;
  for (const int64_t queries : all_queries)
    expect_same_on_every_set(fmt::format("tiles of {} queries", queries), [queries](const Kernels& kernels) {
      const AttentionKernels& k = kernels.attention;
      TileRows s(kernels, keys, queries, 1), grad(kernels, keys, queries, 2), ones(kernels, 3, queries, 3);
      const int64_t width = s.width;
      const RunningSoftmax running = {ones.data(), ones.data() + width, ones.data() + 2 * width};
      std::vector<uint64_t> visible(keys);
      for (size_t j = 0; j < keys; ++j) visible[j] = 0x5adf13579bdf2468 >> j;
      k.mask(s.data(), keys, width, visible.data());
      k.softmax_step(s.data(), keys, width, running);
      k.softmax_backward(s.data(), grad.data(), keys, width, running.maximum);
      Results out;
      append(out, s), append(out, grad), append(out, ones);
      return out;
    });
}

TEST(InstructionSets, ScoresByDistanceAndAdditiveScoresHaveTheSameBits) {
  constexpr int64_t keys = 21;
  for (const int64_t D : all_features)
    for (const int64_t queries : all_queries)
      for (const float spread : {1.0f, 15.0f}) {  // of the second some are too large for the fast path
        const std::string what = fmt::format("{} features, {} queries, spread {}", D, queries, spread);
        expect_same_on_every_set(what, [&](const Kernels& kernels) {
          const AttentionKernels& k = kernels.attention;
          TileRows q(kernels, D, queries, 1), dq(kernels, D, queries, 2), s(kernels, keys, queries, 3),
              ds(kernels, keys, queries, 4);
          Row key = Row::normal(keys * D, 5, spread), dk = Row::normal(keys * D, 6), w = Row::normal(D, 7),
              dw = Row::normal(D, 8);
          const int64_t width = q.width;
          Results out;
          k.distance(q.data(), width, width, key.data(), D, keys, D, s.data());
          k.distance_backward(q.data(), width, width, key.data(), D, keys, D, ds.data(), dq.data(), dk.data(), D);
          append(out, s), append(out, dq), append(out, dk);
          const AdditiveTile tile = {q.data(), width, width, key.data(), D, keys, w.data(), D};
          std::vector<float> memory(static_cast<size_t>(k.additive_memory(tile)));
          k.additive(tile, s.data(), memory.data());
          k.additive_backward(tile, ds.data(), {dq.data(), dk.data(), D, dw.data()}, memory.data());
          append(out, s), append(out, dq), append(out, dk), append(out, dw);
          return out;
        });
      }
}

// T is what single queries read.
template <class T>
Results single_query_results(const SingleQueryKernels<T>& k, int64_t D, int64_t queries, int64_t keys) {
  Row numbers = Row::normal((keys + 128) * D, 1), q = Row::normal(queries * D, 2), s(queries * keys),
      out = Row::normal(queries * D, 3);
  std::vector<T> k_rows;
  for (const float x : numbers)
    k_rows.push_back(sizeof(T) == 4   ? static_cast<T>(x)
                     : sizeof(T) == 2 ? static_cast<T>(std::bit_cast<uint32_t>(x) >> 16)
                                      : static_cast<T>(std::clamp(x * 40, -127.0f, 127.0f)));
  const std::vector<float> rescale(static_cast<size_t>(queries), 0.5f);
  const RowAhead ahead = {.rows = 32, .inside = keys / 2, .beyond = 128 * D};
  k.scores({q.data(), D, queries, k_rows.data(), D, keys, D, ahead, 0.3f, s.data(), keys});
  k.output({s.data(), keys, queries, k_rows.data(), D, keys, D, ahead, rescale.data(), out.data(), D});
  Results results;
  append(results, s), append(results, out);
  return results;
}

TEST(InstructionSets, SingleQueriesHaveTheSameBits) {
  for (const int64_t D : all_features)
    for (const int64_t queries : {1, 3, 4, 6})
      for (const int64_t keys : {1, 13, 128}) {
        const std::string what = fmt::format("{} queries, {} keys, D = {}", queries, keys, D);
        expect_same_on_every_set(
            what, [&](const Kernels& k) { return single_query_results(k.attention.single, D, queries, keys); });
        expect_same_on_every_set(what + ", bf16", [&](const Kernels& k) {
          return single_query_results(k.attention.single_bf16, D, queries, keys);
        });
        expect_same_on_every_set(what + ", int8", [&](const Kernels& k) {
          return single_query_results(k.attention.single_int8, D, queries, keys);
        });
      }
  for (const int64_t n : widths())
    expect_same_on_every_set(fmt::format("softmax of {} scores", n), [n](const Kernels& k) {
      Row s = Row::normal(n, 1);
      float maximum = 0.5f, sum = 2.0f, rescale;
      k.attention.single_softmax_step(s.data(), n, {&maximum, &sum, &rescale});
      Results out = {maximum, sum, rescale};
      append(out, s);
      return out;
    });
}

TEST(InstructionSets, DotsOfRowsHaveTheSameBits) {
  for (int64_t n : widths())
    expect_same_on_every_set(fmt::format("dots of {} columns", n), [n](const Kernels& k) {
      Row a = Row::normal(3 * n, 1), b = Row::normal(3 * n, 2), sum(3);
      k.attention.dot_rows(a.data(), n, b.data(), n, 3, n, sum.data());
      Results out;
      append(out, sum);
      const auto bits = [](Row& x) { return reinterpret_cast<const uint16_t*>(x.data()); };
      std::vector<uint16_t> upper;  // of every float: no NaN among them
      for (int64_t i = 0; i < 3 * n; ++i) upper.push_back(bits(a)[2 * i + 1]);
      k.attention.dot_rows_bf16(upper.data(), n, upper.data(), n, 3, n, sum.data());
      append(out, sum);
      return out;
    });
}

TEST(InstructionSets, MultiTokenKernelsHaveTheSameBits) {
  constexpr int64_t keys = 35, border = 21;  // a row more than the taps reach: lanes are read across its beginning
  for (const int64_t queries : all_queries)
    for (const int64_t key_taps : {1, 5, 12, 13, 16, 17, 40}) {
      const std::string what = fmt::format("{} queries, {} taps", queries, key_taps);
      expect_same_on_every_set(what, [&](const Kernels& kernels) {
        const MultiTokenKernels& k = kernels.multi_token;
        const int64_t query_taps = std::min<int64_t>(3, queries);
        TileRows in(kernels, keys + 2 * border, queries, 1), out(kernels, keys, queries, 2),
            grad(kernels, keys + 2, queries, 3);
        for (int64_t j = 0; j < keys + 2; ++j)
          for (int64_t i = 0; i < grad.width; ++i)
            if (j == 0 || j > keys || i < query_taps - 1) grad.data()[j * grad.width + i] = 0.0f;
        Row taps = Row::normal(query_taps * key_taps, 4);
        Convolution c = {.in = in.data() + border * in.width,
                         .out = out.data(),
                         .keys = keys,
                         .width = in.width,
                         .taps = taps.data(),
                         .query_taps = query_taps,
                         .key_taps = key_taps,
                         .query_before = query_taps - 1,
                         .key_before = key_taps / 2};
        std::vector<double> sums(static_cast<size_t>(query_taps * key_taps + 1));
        k.correlate(c, grad.data() + grad.width, sums.data());
        k.convolve(c);
        for (int64_t j = 0; j < keys; ++j)  // lanes that read across the beginning of a row
          for (int64_t i = 0; i < query_taps - 1; ++i) out.data()[j * out.width + i] = 0.0f;
        k.dot_all_heads({in.data(), keys * in.width / 7, 2}, {out.data(), 0, 1}, keys / 7, in.width, sums.data());
        Results results(sums.begin(), sums.end());
        append(results, out);
        return results;
      });
    }
}

}  // namespace qkv::kernel::instruction_sets_test
