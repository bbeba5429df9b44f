#include "qkv/model/store_parameters.h"

#include "qkv/base/error.h"

namespace qkv {

StoreParameter store_for_training() {
  return {[](const Parameter& parameter, const StoredValues& values) {
    parameter.mutable_value().copy_from(values.numbers().to(DType::f32));
  }};
}

StoreParameter store_for_inference(const InferenceOptions& options) {
  require<UsageError>(!options.map || options.precision == Precision::f32, "precision",
                      "map uses weights in place, for products in f32; precision bf16 packs them: choose one");
  const auto store = [options, others = store_for_training()](const Parameter& parameter,
                                                              const StoredValues& values) {
    if (!parameter.is_matrix()) return others(parameter, values);
    const Tensor& tensor = values.tensor();
    const WeightFormat format = options.weights.value_or(values.format());
    if (format != values.format())
      return parameter.hold(Weight::packed(values.numbers(), format, options.precision));
    const bool is_mapped = options.map && !tensor.storage()->writable();
    const bool in_place = is_mapped && tensor.contiguous() && !is_quantized(format);
    parameter.hold(in_place ? Weight::in_place(tensor) : Weight::packed(values, options.precision));
  };
  return {store, options.map};
}

}  // namespace qkv
