// The precision that a training is asked for. `automatic` is resolved once, when a training begins: bf16 where the
// instruction set of every process has products of bf16, which are faster, else f32. The result is stored with the training,
// which keeps it when it is resumed, on any processor.
//
//     const bool has_bf16 = all_have_bf16_products(ranks);                          // every rank calls it
//     const ResolvedPrecision p = resolve_automatic_precision({}, has_bf16);
//     model.train_in({.precision = product_precision(p.precision)});
#pragma once

#include <array>
#include <optional>
#include <string>

#include "qkv/base/communicator.h"
#include "qkv/base/names.h"
#include "qkv/op/weight.h"

namespace qkv {

enum class TrainingPrecision { f32, bf16, automatic };
constexpr auto names_of(TrainingPrecision) {
  return std::array{Named{TrainingPrecision::f32, "f32"}, Named{TrainingPrecision::bf16, "bf16"},
                    Named{TrainingPrecision::automatic, "auto"}};
}

struct ResolvedPrecision {
  TrainingPrecision precision = TrainingPrecision::f32;  // not automatic
  std::string why = {};                                  // "amx has products of bf16"
};
// `begun` is the precision of the training that is resumed, if one is.
ResolvedPrecision resolve_automatic_precision(std::optional<TrainingPrecision> begun, bool all_have_products);

bool all_have_bf16_products(Communicator& ranks);

// Error: automatic, which has to be resolved before.
Precision product_precision(TrainingPrecision precision);

}  // namespace qkv
