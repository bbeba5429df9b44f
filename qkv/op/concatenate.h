// Joins tensors along an axis, and splits one into its positions.
//
//     Variable pair = concatenate({forward, backward}, 2);      // (B,T,C) and (B,T,D): (B,T,C+D)
//     std::vector<Variable> steps = split(x, 1);                // x (B,T,C): T views, (B,1,C) each
//     Variable whole = concatenate(steps, 1);                   // x
//
// split() is for loops over time: the gradients of all positions are written into one tensor, where slice() would
// make a tensor of the shape of x for each. Errors: no tensor; shapes that differ on another axis.
#pragma once

#include "qkv/autograd/variable.h"

namespace qkv {

Variable concatenate(const std::vector<Variable>& parts, int axis);
std::vector<Variable> split(const Variable& x, int axis);

}  // namespace qkv
