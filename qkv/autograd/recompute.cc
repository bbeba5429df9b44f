#include "qkv/autograd/recompute.h"

#include <algorithm>
#include <utility>

namespace qkv {
namespace {

// The inputs as leaves of a tape of their own.
std::vector<Variable> as_leaves(std::span<const Variable> inputs, const std::vector<bool>& needs) {
  std::vector<Variable> leaves;
  for (size_t i = 0; i < inputs.size(); ++i)
    leaves.push_back(inputs[i].defined() ? Variable(inputs[i].value(), {.requires_grad = needs[i]}) : Variable());
  return leaves;
}

}  // namespace

Variable recompute(std::vector<Variable> inputs, Recomputed compute) {
  if (!recording()) return compute(inputs);
  // Parameters that `compute` uses need gradients, even if no input does.
  if (!recording(inputs)) {
    const auto first = std::find_if(inputs.begin(), inputs.end(), [](const Variable& v) { return v.defined(); });
    if (first == inputs.end()) return compute(inputs);
    *first = Variable(first->value(), {.requires_grad = true});
  }
  Tensor value;
  {
    const NoGrad guard;
    value = compute(inputs).value();
  }
  const std::vector<Variable> saved = inputs;
  return record_node("recompute", inputs, std::move(value),
                     [saved, compute = std::move(compute)](const Tensor& grad, const std::vector<bool>& needs) {
                       const std::vector<Variable> leaves = as_leaves(saved, needs);
                       {
                         const WithGrad guard;
                         compute(leaves).backward(grad);
                       }
                       std::vector<Tensor> grads;
                       for (size_t i = 0; i < leaves.size(); ++i)
                         grads.push_back(needs[i] ? leaves[i].grad() : Tensor());
                       return grads;
                     });
}

}  // namespace qkv
