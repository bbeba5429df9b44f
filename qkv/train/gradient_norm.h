// The norm of the gradient, and gradient clipping (Pascanu et al., 2013):
//
//     norm = sqrt(sum over all parameters of gradient^2)         gradient *= min(1, max_norm / norm)
//
//     const double norm = gradient_norm(parameters);
//     optimizer.step(rate, clip_factor(norm, max_norm));         // the same as clip_gradients(), without writing them
//
// Partial sums are doubles, added in an order that does not depend on the threads.
#pragma once

#include <span>
#include <vector>

#include "qkv/autograd/variable.h"

namespace qkv {

// Parameters without a gradient count as zero.
double gradient_norm(std::span<const Variable> parameters);

// Its parts, for parameters that are divided among processes: the sum of squares of every range
// (train/parameter_ranges.h). Their sum in order, and then its root, is the norm.
std::vector<double> gradient_squares(std::span<const Variable> parameters);

// Scales the gradients and returns their norm before that.
double clip_gradients(std::span<Variable> parameters, double max_norm);
// min(1, max_norm / norm); 1 when max_norm is 0, which means no limit.
double clip_factor(double norm, double max_norm);

}  // namespace qkv
