#include "qkv/layer/sequence_part.h"

#include "qkv/attention/attention.h"
#include "qkv/attention/distributed.h"
#include "qkv/base/error.h"
#include "qkv/op/concatenate.h"
#include "qkv/op/shape.h"

namespace qkv {

ZigzagPart SequencePart::zigzag() const {
  return is_whole() ? ZigzagPart() : ZigzagPart{communicator_->rank(), communicator_->size()};
}

Tensor SequencePart::of(const Tensor& whole) const {
  if (is_whole() || !whole.defined()) return whole;
  const int64_t T = whole.dim(1);
  require<UsageError>(T % (2 * communicator_->size()) == 0, "SequencePart",
                      "{} processes share a sequence in {} equal blocks: {} tokens cannot be divided into them",
                      communicator_->size(), 2 * communicator_->size(), T);
  return zigzag_layout(T, communicator_->size()).rows_of(whole, 1, communicator_->rank());
}

Tensor SequencePart::positions(const Tensor& ids, const Tensor& given) const {
  if (is_whole() || given.defined()) return of(given);
  Tensor columns = Tensor::empty(ids.shape(), DType::i32);
  for (int64_t i = 0; i < ids.numel(); ++i) columns.data<int32_t>()[i] = static_cast<int32_t>(i % ids.dim(1));
  return of(columns);
}

Variable SequencePart::by_runs(const Variable& x, int axis,
                               FunctionRef<Variable(const Variable&, int64_t)> each) const {
  if (is_whole()) return each(x, 0);
  std::vector<Variable> runs;
  for (const ZigzagPart::Run& run : zigzag().runs(x.dim(axis)))
    runs.push_back(each(slice(x, axis, run.row, run.row + run.count), run.position));
  return concatenate(runs, axis);
}

Variable SequencePart::attend(const Variable& q, const Variable& k, const Variable& v,
                              const AttentionOptions& options) const {
  if (is_whole()) return attention(q, k, v, options);
  return distributed_attention(q, k, v, {*communicator_, zigzag().layout(q.dim(2)), zigzag().layout(k.dim(2))},
                               options);
}

}  // namespace qkv
