// Attention inside another program: on its own memory, into its own memory, from several threads, with errors caught.
#include <algorithm>
#include <cmath>
#include <future>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "qkv/attention.h"

using namespace qkv;

namespace {

// The layout of this program: query, key and value of a token side by side, (T, 3, H, D).
constexpr int64_t T = 16, H = 2, D = 8;

// A view (1,H,T,D) of the queries (part 0), keys (1) or values (2). Nothing is copied.
Tensor view_of(const std::shared_ptr<Storage>& packed, int64_t part) {
  return Tensor::view(packed, DType::f32, {1, H, T, D}, {T * 3 * H * D, D, 3 * H * D, 1}, part * H * D);
}

}  // namespace

int main() {
  const auto numbers = std::make_shared<std::vector<float>>(T * 3 * H * D);
  for (size_t i = 0; i < numbers->size(); ++i) (*numbers)[i] = std::sin(static_cast<float>(i));

  // The tensors share the ownership of `numbers`, and cannot write to it.
  constexpr int64_t bytes = T * H * D * size_of(DType::f32);  // of each part, and of the result
  const auto packed = Storage::borrow(numbers->data(), 3 * bytes, numbers, /*writable=*/false);
  const Tensor q = view_of(packed, 0), k = view_of(packed, 1), v = view_of(packed, 2);
  fmt::print("q is the memory of the program: {}\n", q.data<float>() == numbers->data());
  fmt::print("bytes allocated for tensors: {}\n", storage_statistics().used_bytes);

  // The result has the memory order of q: with T before H it is contiguous.
  const AttentionOptions options = {.mask = causal()};
  const Tensor out = attention(q, k, v, options);
  const Tensor rows = out.transpose(1, 2);
  fmt::print("a result of (B,T,H,D) {} is contiguous: {}\n", rows.shape(), rows.contiguous());

  // Into memory of the program: one copy.
  std::vector<float> mine(T * H * D);
  const auto own = Storage::borrow(mine.data(), bytes, nullptr, /*writable=*/true);
  Tensor::view(own, DType::f32, rows.shape(), rows.strides()).copy_from(rows);

  // Any number of threads may call with the same tensors and options, and get the same bits.
  std::vector<std::future<Tensor>> calls;
  for (int i = 0; i < 4; ++i)
    calls.push_back(std::async(std::launch::async, [&] { return attention(q, k, v, options).transpose(1, 2); }));
  int same = 0;
  for (std::future<Tensor>& call : calls) {
    const Tensor answer = call.get();
    same += std::ranges::equal(answer.span<float>(), mine);
  }
  fmt::print("4 threads at once, {} results with the same bits\n", same);

  try {
    attention(q, k, v.slice(2, 0, 3), options);
  } catch (const Error& error) {
    fmt::print("{}\n", error.what());
  }
}
