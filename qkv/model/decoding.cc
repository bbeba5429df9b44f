#include "qkv/model/decoding.h"

#include "qkv/base/error.h"

namespace qkv {

// What every model can do.
Tensor Decoding::extend_each(std::span<const std::vector<int32_t>> tokens, Pass& pass) {
  for (const std::vector<int32_t>& of_row : tokens)
    require(of_row.size() <= 1, "Decoding::extend_each", "a row of this model takes one token at once, got {}",
            of_row.size());
  return extend(tokens, pass);
}

int64_t Decoding::max_at_once(int64_t) const { return 1; }

void Decoding::truncate(std::span<const int64_t> lengths) {
  for (int64_t r = 0; r < rows(); ++r)
    require(lengths[static_cast<size_t>(r)] == position(r), "Decoding::truncate",
            "a row of this model keeps all of its {} tokens, got {}", position(r), lengths[static_cast<size_t>(r)]);
}

Tensor Decoding::extend(std::span<const std::vector<int32_t>> tokens, Pass& pass) {
  const NoGrad guard;
  return output().logits(advance(tokens, pass)).value();
}

void Decoding::extend(std::span<const std::vector<int32_t>> tokens, Pass& pass, int parts,
                      FunctionRef<void(const kernel::ProductBlock&)> take) {
  const NoGrad guard;
  output().logits_in_blocks(advance(tokens, pass), parts, take);
}

OutputProjection::LargestLogits Decoding::extend_to_largest(std::span<const std::vector<int32_t>> tokens,
                                                            Pass& pass, std::span<const int64_t> counts,
                                                            std::span<const std::vector<int32_t>> also) {
  const NoGrad guard;
  return output().largest_logits(advance(tokens, pass), counts, also);
}

Tensor Decoding::extend(std::span<const int32_t> tokens, Pass& pass) {
  std::vector<std::vector<int32_t>> rows;
  for (const int32_t token : tokens) rows.push_back({token});
  return extend(rows, pass);
}

}  // namespace qkv
