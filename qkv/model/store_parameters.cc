#include "qkv/model/store_parameters.h"

namespace qkv {

StoreParameter store_for_training() {
  return {[](const Parameter& parameter, const Tensor& values) {
    parameter.mutable_value().copy_from(values.to(DType::f32));
  }};
}

StoreParameter store_for_inference(const InferenceOptions& options) {
  const auto store = [options, others = store_for_training()](const Parameter& parameter, const Tensor& values) {
    if (!parameter.is_matrix()) return others(parameter, values);
    const WeightFormat stored = values.dtype() == DType::bf16 ? WeightFormat::bf16 : WeightFormat::f32;
    const WeightFormat format = options.weights.value_or(stored);
    const bool is_mapped = options.map && !values.storage()->writable();
    if (is_mapped && format == stored && values.contiguous()) return parameter.hold(Weight::in_place(values));
    parameter.pack(values, format);
  };
  return {store, options.map};
}

}  // namespace qkv
