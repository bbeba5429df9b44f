// Which algorithm computes the forward of a call: an ordered list of candidates, best first, each of which takes the
// call or states why it declines. The first that takes it runs; explain() prints the same list.
//
//     const Algorithm algorithm = select_algorithm({.shape = shape, .dtype = DType::bf16, .options = options});
#pragma once

#include <span>
#include <string>

#include "qkv/attention/options.h"
#include "qkv/tensor/dtype.h"

namespace qkv::internal {

enum class Algorithm {
  single_query,  // single.cc
  bf16_tiles,    // the others are in forward.cc
  one_f32_tile,
  f32_tiles,
};

// What the choice depends on.
struct AlgorithmRequest {
  AttentionShape shape;  // D: the width of prepared queries and keys
  DType dtype = DType::f32;
  const AttentionOptions& options;
  bool with_backward = false;
};

struct AlgorithmCandidate {
  Algorithm algorithm;
  const char* name;
  const char* description;
  std::string (*why_not)(const AlgorithmRequest&);  // empty: it takes the call
};

std::span<const AlgorithmCandidate> algorithm_candidates();
Algorithm select_algorithm(const AlgorithmRequest& request);

// Whether an algorithm reads bf16 inputs as they are. The others need them converted to f32.
bool reads_bf16(Algorithm algorithm);

}  // namespace qkv::internal
