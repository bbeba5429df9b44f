// A part of a computation whose intermediate values are not kept: backward() computes them again (Chen et al., "Training Deep
// Nets with Sublinear Memory Cost", 2016). It takes the time of the forward pass once more, and of a stack of N blocks the
// memory of one.
//
//     Variable y = recompute({x, memory}, [&](std::span<const Variable> inputs) {
//       return block.forward(inputs[0], inputs[1], pass);
//     });
//
// `compute` must return the same value for the same inputs, whenever it is called: what it refers to must live until
// backward(), and it must draw the same random numbers in every call. Gradients reach its inputs through the tape, and parameters
// that it uses directly. They are those without recompute(), up to the order in which the gradients of an input that
// several parts share are added. backward() may be called once, as without.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "qkv/autograd/variable.h"

namespace qkv {

using Recomputed = std::function<Variable(std::span<const Variable> inputs)>;
Variable recompute(std::vector<Variable> inputs, Recomputed compute);

}  // namespace qkv
