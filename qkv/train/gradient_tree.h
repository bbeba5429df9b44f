// The gradients of all parameters in one memory, summed over pieces of a batch in a binary tree:
//
//     ((g0 + g1) + (g2 + g3)) + ((g4 + g5) + (g6 + g7))
//
// Any aligned 2^a pieces are a subtree. So processes that sum 2^a pieces each, and then their sums in such a tree
// (base/collectives.h), get the same bits as one that sums all of them.
//
//     GradientTree tree(parameters);
//     for (each of 2^m pieces) { loss.backward(); tree.add(); }
//     all_reduce(c, tree.sum().span<float>());
//     tree.give(tree.sum());                              // the parameters have it as their gradients
//
// In bf16 every piece and every sum of two is rounded to bf16, nearest, so that a sum travels between processes in half of the bytes
// and still has the same bits: what is rounded does not depend on who computes it.
//
// Memory   m times that of the parameters, at least once; the copies of give() are as many.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "qkv/autograd/variable.h"
#include "qkv/base/collectives.h"
#include "qkv/base/names.h"
#include "qkv/train/parameter_ranges.h"

namespace qkv {

enum class GradientFormat { f32, bf16 };
constexpr auto names_of(GradientFormat) {
  return std::array{Named{GradientFormat::f32, "f32"}, Named{GradientFormat::bf16, "bf16"}};
}

class GradientTree {
 public:
  explicit GradientTree(std::vector<Variable> parameters, GradientFormat format = GradientFormat::f32);

  // Takes the gradients of the parameters as those of the next piece; a parameter without one counts as zero.
  void add();
  // The same in parts: those of the parameters [first, last), until each has been in one part, and end_piece(). Returns their
  // numbers in sum(), if this piece is the last.
  Tensor add_part(size_t first, size_t last);
  void end_piece();
  void clear();

  size_t parameters() const { return parameters_.size(); }
  // The parameters [first, last) in the flat numbers.
  Shard part(size_t first, size_t last) const { return {offsets_[first], offsets_[last]}; }

  // All numbers, in the order of the parameters. Error unless the number of pieces is a power of two.
  Tensor sum() const;
  // For each parameter whether a piece had a gradient of it: 1 or 0.
  std::vector<uint8_t>& reached() { return reached_; }
  // The parameters that were reached get their part of `flat` as their gradient, a copy.
  void give(const Tensor& flat);

 private:
  // Of a whole gradient: to[range] = that of the parameter, or += it.
  enum class Take { copied, added };
  void take(Tensor& to, Take how, size_t first, size_t last) const;

  void add_to(Tensor to, const Tensor& from) const;
  void round(float* numbers, int64_t count) const;

  std::vector<Variable> parameters_;
  GradientFormat format_;
  std::vector<ParameterRange> ranges_;
  std::vector<int64_t> offsets_ = {0};  // of the parameters, and the end of the last
  struct Level {
    Tensor numbers;
    bool full = false;
  };
  std::vector<Level> levels_;  // level i: the sum of 2^i pieces
  std::vector<uint8_t> reached_;
};

}  // namespace qkv
