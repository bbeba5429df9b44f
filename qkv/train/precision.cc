#include "qkv/train/precision.h"

#include <algorithm>

#include "qkv/base/collectives.h"
#include "qkv/base/error.h"
#include "qkv/kernel/kernels.h"

namespace qkv {
namespace {

bool has_bf16_products() { return kernel::kernels().attention.bf16 != nullptr; }

}  // namespace

ResolvedPrecision resolve_automatic_precision(std::optional<TrainingPrecision> begun, bool all_have_products) {
  if (begun) return {.precision = *begun, .why = "this training began with it"};
  const std::string_view isa = kernel::kernels().isa;
  if (all_have_products)
    return {.precision = TrainingPrecision::bf16, .why = fmt::format("{} has products of bf16", isa)};
  return {.precision = TrainingPrecision::f32,
          .why = has_bf16_products() ? "not every process has products of bf16"
                                     : fmt::format("{} has no products of bf16", isa)};
}

bool all_have_bf16_products(Communicator& ranks) {
  return std::ranges::all_of(all_gather_number(ranks, has_bf16_products()), [](int64_t has) { return has != 0; });
}

Precision product_precision(TrainingPrecision precision) {
  require(precision != TrainingPrecision::automatic, "train",
          "precision auto must be resolved before a training begins, as train() does");
  return precision == TrainingPrecision::bf16 ? Precision::bf16 : Precision::f32;
}

}  // namespace qkv
