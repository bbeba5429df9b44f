#include "qkv/layer/output_projection.h"

#include "qkv/base/error.h"
#include "qkv/base/sort_unique.h"
#include "qkv/op/activation.h"
#include "qkv/op/arithmetic.h"
#include "qkv/op/linear.h"
#include "qkv/op/maximum_inner_product.h"
#include "qkv/op/shape.h"

namespace qkv {

OutputProjection::OutputProjection(const Parameter& matrix, const OutputProjectionOptions& options)
    : weight(matrix), options_(options) {
  if (options.bias) bias = Parameter({Axis(matrix.dim(0), "V")});
  if (options.width != 0 && options.width != matrix.dim(1))
    projection.emplace(Axis(options.width, "C"), Axis(matrix.dim(1), "E"), false);
}

Variable OutputProjection::projected(const Variable& hidden) const {
  require<UsageError>(options_.exists, "model", "this model has no head: it gives embeddings, and no logits");
  const Variable x = projection ? projection->forward(hidden) : hidden;
  return options_.scale == 1 ? x : scale(x, options_.scale);
}

Variable OutputProjection::logits(const Variable& hidden) const {
  return capped(linear(projected(hidden), weight, bias));
}

Variable OutputProjection::capped(const Variable& logits) const {
  return options_.softcap == 0 ? logits : scale(tanh(scale(logits, 1 / options_.softcap)), options_.softcap);
}

void OutputProjection::logits_in_blocks(const Tensor& hidden, int parts,
                                        FunctionRef<void(const kernel::ProductBlock&)> take) const {
  const NoGrad guard;
  const Tensor rows = projected(Variable(hidden)).value().contiguous_copy();
  linear_in_blocks(rows, weight, bias, parts, [&](kernel::ProductBlock block) {
    if (options_.softcap != 0) {
      const auto row = [&](int64_t r) { return block.c + r * block.c_row_stride; };
      Tensor logits = Tensor::empty({block.rows, block.columns});
      const auto row_of_copy = [&](Tensor& x, int64_t r) { return x.data<float>() + r * block.columns; };
      for (int64_t r = 0; r < block.rows; ++r) std::copy_n(row(r), block.columns, row_of_copy(logits, r));
      Tensor of_block = capped(Variable(logits)).value();
      for (int64_t r = 0; r < block.rows; ++r) std::copy_n(row_of_copy(of_block, r), block.columns, row(r));
    }
    take(block);
  });
}

CrossEntropy OutputProjection::loss(const Variable& hidden, const Tensor& targets,
                                    const CrossEntropyOptions& options) const {
  require(hidden.value().rank() == 3 && targets.shape() == Shape{hidden.dim(0), hidden.dim(1)}, "loss",
          "hidden (B,T,C) is {}, targets must be (B,T), got {}", hidden.shape(), targets.shape());
  const int64_t N = targets.numel();
  const Variable rows = reshape(hidden, {N, hidden.dim(2)});
  const Tensor wanted = targets.contiguous_copy().reshape({N});
  if (options_.softcap != 0) return cross_entropy(logits(rows), wanted, options);
  return linear_cross_entropy(projected(rows), {weight, bias}, wanted, options);
}

OutputProjection OutputProjection::of_tokens(std::span<const int32_t> ids) const {
  OutputProjection some = *this;
  const Axis count = {std::ssize(ids), "V"};
  const Weight rows = weight.weight().rows(ids);
  some.weight = Parameter::matrix(count, weight.dim(1));
  some.weight.hold(rows);
  if (bias.defined()) some.bias = Parameter(Variable(bias_of(ids)));
  return some;
}

Tensor OutputProjection::bias_of(std::span<const int32_t> ids) const {
  Tensor of_ids = Tensor::empty({std::ssize(ids)});
  for (size_t i = 0; i < ids.size(); ++i) of_ids.span<float>()[i] = bias.value().at<float>({ids[i]});
  return of_ids;
}

// A cap gives equal logits to tokens whose products differ, and the first of them counts.
bool OutputProjection::searches_largest(int64_t rows) const {
  return options_.exists && options_.softcap == 0 && weight.weight().search(rows) != nullptr;
}

OutputProjection::LargestLogits OutputProjection::largest_logits(const Tensor& hidden,
                                                                 std::span<const int64_t> counts,
                                                                 std::span<const std::vector<int32_t>> also) const {
  const NoGrad guard;
  const Tensor x = projected(Variable(hidden)).value().contiguous_copy();
  std::optional<std::vector<std::vector<int32_t>>> found;
  if (options_.softcap == 0)
    if (const auto search = weight.weight().search(x.dim(0)))
      found = search->candidates(x, bias.defined() ? bias.value().contiguous_copy() : Tensor(), counts);
  if (!found) return {.ids = {}, .logits = capped(linear(Variable(x), weight, bias)).value()};
  std::vector<int32_t> all;
  for (size_t r = 0; r < found->size(); ++r) {
    std::vector<int32_t>& ids = (*found)[r];
    ids.insert(ids.end(), also[r].begin(), also[r].end());
    sort_unique(ids);
    all.insert(all.end(), ids.begin(), ids.end());
  }
  sort_unique(all);
  const Variable bias_of_all = bias.defined() ? Variable(bias_of(all)) : Variable();
  return {.ids = std::move(*found), .logits = linear(Variable(x), weight.weight().rows(all), bias_of_all).value()};
}

void OutputProjection::list(ModuleContents& contents) const {
  contents.parameter("bias", bias);
  if (projection && options_.exists) contents.child("projection", *projection);
}

}  // namespace qkv
