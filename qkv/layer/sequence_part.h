// What a process has of the sequences of a pass: all of them, or where several processes share each sequence, because it is too
// long for one, its rows. What a layer does row by row is the same for both; what depends on positions, and attention, is here.
//
//     SequencePart part(group);                              // of the rank in a Communicator; SequencePart(): whole sequences
//     Pass pass{.training = true, .part = part};             // the layers ask it
//     Variable x = embedding.forward(part.of(ids), {.positions = part.positions(ids, {})}, pass);   // (B,T) -> (B,rows,C)
//     Variable y = part.attend(q, k, v, {.mask = causal()});                                        // attention/distributed.h
//
// The rows are those of zigzag_layout(), so that under a causal mask all ranks have the same work. Every rank calls the same
// functions, and backward(), in the same order. The communicator must outlive the part.
// Errors   UsageError: sequences whose length twice the number of ranks does not divide; those of distributed_attention().
#pragma once

#include "qkv/attention/options.h"
#include "qkv/autograd/variable.h"
#include "qkv/base/communicator.h"
#include "qkv/base/threads.h"
#include "qkv/tensor/sequence_layout.h"

namespace qkv {

class SequencePart {
 public:
  SequencePart() = default;
  explicit SequencePart(Communicator& c) : communicator_(c.size() > 1 ? &c : nullptr) {}

  bool is_whole() const { return communicator_ == nullptr; }
  ZigzagPart zigzag() const;

  // The rows of (B,T), of this process. A tensor that is not defined stays so.
  Tensor of(const Tensor& whole) const;
  // The positions of these rows of ids (B,T): of `given` (B,T); without it their columns, which of whole rows are not
  // defined, as a layer counts them by itself.
  Tensor positions(const Tensor& ids, const Tensor& given) const;
  // each(run, position) of the rows of an axis that follow each other from that position, joined again.
  Variable by_runs(const Variable& x, int axis, FunctionRef<Variable(const Variable&, int64_t)> each) const;
  // attention() of these rows of queries, keys and values (B,heads,rows,D) in their sequences.
  Variable attend(const Variable& q, const Variable& k, const Variable& v, const AttentionOptions& options) const;

 private:
  Communicator* communicator_ = nullptr;  // none: whole sequences
};

}  // namespace qkv
