// Normalization of the last axis, of width C.
//
//     layer_norm(x) = (x - mean) / sqrt(var + eps) * weight + bias    Ba, Kiros and Hinton, 2016; var divides by C
//     rms_norm(x)   = x / sqrt(mean of x^2 + eps) * weight            Zhang and Sennrich, 2019
//     unit_norm(x)  = x / |x|                                         zero, without gradient, for a row of zeros
//
//     Variable y = layer_norm(x, weight, bias, 1e-5f);
//     Variable z = layer_norm(x, weight, /*bias=*/{});
//
// Errors of layer_norm and rms_norm: a weight or bias that is not (C), a C of 0.
#pragma once

#include "qkv/autograd/variable.h"

namespace qkv {

Variable layer_norm(const Variable& x, const Variable& weight, const Variable& bias, float eps = 1e-5f);
Variable rms_norm(const Variable& x, const Variable& weight, float eps = 1e-6f);

Variable unit_norm(const Variable& x);

}  // namespace qkv
