#include "qkv/published/gguf/write_gguf.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include <fmt/ranges.h>

#include "qkv/base/file.h"
#include "qkv/base/integers.h"
#include "qkv/op/weight.h"
#include "qkv/published/gguf/gguf_architecture.h"
#include "qkv/published/gguf/gguf_config.h"
#include "qkv/published/gguf/gguf_header.h"
#include "qkv/published/gguf/gguf_tokenizer_keys.h"
#include "qkv/tensor/half.h"

namespace qkv {
namespace {

// A parameter, or rows of one, in a tensor of the file.
struct Part {
  Parameter parameter;
  std::vector<int64_t> rows;  // of the tensor; none: all
};
struct PlannedTensor {
  std::string name;
  Shape shape;
  const GgufTensorType* type = nullptr;
  float added = 0;  // to every number
  std::vector<Part> parts = {};
  std::vector<float> numbers = {};  // instead of parts
  int64_t bytes() const { return shape.numel() / type->block.numbers * type->block.bytes; }
};
using Plan = std::vector<PlannedTensor>;

bool fits_half(const Parameter& parameter) {
  const Tensor values = parameter.stored().numbers().to(DType::f32).contiguous_copy();
  return std::ranges::all_of(values.span<float>(), [](float x) { return std::abs(x) < 65504; });
}

// f16 for what a quantised format cannot hold.
const GgufTensorType& type_of(const Parameter& parameter, WeightFormat weights) {
  if (!parameter.is_matrix()) return gguf_tensor_type(WeightFormat::f32);
  const WeightFormat held = parameter.weight().format();
  const bool is_left_over = held == WeightFormat::int8 || (held == WeightFormat::f32 && is_quantized(weights));
  if (!is_left_over) return gguf_tensor_type(held);
  return fits_half(parameter) ? gguf_tensor_type(std::nullopt) : gguf_tensor_type(WeightFormat::f32);
}

// Whether this is a name of such files, and not one of a family that they have none for.
bool is_gguf_name(std::string_view name) {
  constexpr std::string_view begins[] = {"token_", "position_embd.", "output", "blk.", "enc.", "dec."};
  return std::ranges::any_of(begins, [&](std::string_view begin) { return name.starts_with(begin); });
}

// None: the model has parameters that the architecture has no tensors for.
std::optional<Plan> plan_of(const GgufArchitecture& architecture, const GgufSource& source,
                            const TransformerConfig& held) {
  // The order of rows does not depend on this setting of Falcon, only which of two names its norms have.
  const Json settings = {{"model_type", architecture.model_type}, {"new_decoder_architecture", true}};
  const TensorNames names = tensors_of_gguf(architecture, HfConfig(settings.dump(), "GGUF"), held);
  const TransformerConfig& config = source.model.config().transformer();
  Plan plan;
  std::map<std::string, size_t> index;
  bool is_complete = true;
  source.model.for_each_parameter([&](const std::string& parameter_name, const Parameter& parameter) {
    const bool is_output = parameter_name == "output";
    if (config.architecture == Architecture::masked && (is_output || parameter_name.starts_with("head."))) return;
    const auto found = names.sources().find(parameter_name);
    const std::string name = is_output ? names.output() : found != names.sources().end() ? found->second.name : "";
    is_complete = is_complete && is_gguf_name(name);
    if (!is_complete) return;
    const auto [at, is_new] = index.emplace(name, plan.size());
    if (is_new)
      plan.push_back({.name = name,
                      .shape = parameter.shape(),
                      .added = name.ends_with("norm.weight") ? config.norm_weight_offset : 0});
    else
      plan[at->second].shape[0] += parameter.shape()[0];
    plan[at->second].parts.push_back({parameter, is_output ? std::vector<int64_t>() : found->second.part.rows});
  });
  if (!is_complete) return {};
  for (const auto& [name, factors] : rope_factors(held))
    plan.push_back({.name = name,
                    .shape = {std::ssize(factors)},
                    .type = &gguf_tensor_type(WeightFormat::f32),
                    .numbers = factors});
  return plan;
}

void set_types(Plan& plan, WeightFormat weights) {
  for (PlannedTensor& tensor : plan)
    for (const Part& part : tensor.parts) {
      const GgufTensorType& type = type_of(part.parameter, weights);
      // Parts of different formats have none in common.
      tensor.type = !tensor.type || tensor.type == &type ? &type : &gguf_tensor_type(WeightFormat::f32);
    }
}

// general.file_type: of the most numbers in matrices.
uint32_t file_type_of(const Plan& plan) {
  std::map<uint32_t, int64_t> counts;
  for (const PlannedTensor& tensor : plan)
    if (!tensor.parts.empty() && tensor.parts.front().parameter.is_matrix())
      counts[tensor.type->file_type] += tensor.shape.numel();
  const auto largest = std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  return largest == counts.end() ? 0 : largest->first;
}

struct Choice {
  const GgufArchitecture* architecture = nullptr;
  Plan plan;
};

// What reading a file of this architecture would give in another way; "": nothing.
std::string difference(const GgufArchitecture& architecture, const Plan& plan, const TransformerConfig& held) {
  GgufKeys keys;
  keys.text("general.architecture", architecture.name);
  add_config(keys, architecture.name, held);
  const GgufMetadata metadata = keys.metadata("GGUF");
  GgufOutline outline = {metadata};
  for (const PlannedTensor& tensor : plan) {
    outline.shapes[tensor.name] = tensor.shape;
    if (!tensor.numbers.empty()) outline.factors[tensor.name] = {tensor.numbers.begin(), tensor.numbers.end()};
  }
  try {
    const HfConfig settings(architecture.settings(outline).dump(), "GGUF");
    return config_difference(held, config_in_gguf(config_of_gguf(settings)));
  } catch (const InputError& error) {
    return error.what();
  }
}

Choice chosen_architecture(const GgufSource& source, const TransformerConfig& held) {
  std::vector<const GgufArchitecture*> all;
  std::vector<std::string_view> names;
  for (const GgufArchitecture& architecture : gguf_architectures()) {
    all.push_back(&architecture);
    names.push_back(architecture.name);
  }
  std::stable_partition(all.begin(), all.end(), [&](const auto* one) { return one->model_type == source.family; });
  std::vector<std::string> differences;
  for (const GgufArchitecture* one : all) {
    const GgufArchitecture& architecture = *one;
    std::optional<Plan> plan = plan_of(architecture, source, held);
    if (!plan) continue;
    const std::string differs = difference(architecture, *plan, held);
    if (differs.empty()) return {one, std::move(*plan)};
    differences.push_back(fmt::format("in {} {}", architecture.name, differs));
  }
  fail<UsageError>("convert", "no architecture of GGUF files is that of this model, only {}{}{}", name_list(names),
                   differences.empty() ? "" : "; ", fmt::join(differences, ", "));
}

// The rows of a parameter in the type of the tensor.
std::string rows_of(const Parameter& parameter, const PlannedTensor& tensor) {
  const StoredValues stored = parameter.is_matrix() ? parameter.stored() : StoredValues(parameter.values());
  const auto bytes = [](const Tensor& t) {
    const Tensor values = t.contiguous_copy();
    const auto* begin = reinterpret_cast<const char*>(values.storage()->data());
    return std::string(begin, static_cast<size_t>(values.numel() * size_of(values.dtype())));
  };
  const bool is_half = !tensor.type->format;
  if (!is_half && stored.format() == *tensor.type->format && tensor.added == 0) return bytes(stored.tensor());
  Tensor values = stored.numbers().to(DType::f32).contiguous_copy();
  std::string out;
  for (float& x : values.span<float>()) {
    x += tensor.added;
    if (is_half) append_gguf(out, half_of_float(x));
  }
  return is_half ? out : bytes(values);
}

std::string bytes_of(const PlannedTensor& tensor) {
  std::string out;
  for (const float x : tensor.numbers) append_gguf(out, x);
  if (!tensor.numbers.empty()) return out;
  if (tensor.parts.size() == 1 && tensor.parts.front().rows.empty())
    return rows_of(tensor.parts.front().parameter, tensor);
  out.resize(static_cast<size_t>(tensor.bytes()));
  const auto width = out.size() / static_cast<size_t>(tensor.shape[0]);
  for (const Part& part : tensor.parts) {
    const std::string rows = rows_of(part.parameter, tensor);
    for (size_t i = 0; i < rows.size() / width; ++i) {
      const auto to = part.rows.empty() ? i : static_cast<size_t>(part.rows[i]);
      require((to + 1) * width <= out.size(), "GGUF", "tensor {} has no row {}", tensor.name, to);
      std::memcpy(out.data() + to * width, rows.data() + i * width, width);
    }
  }
  return out;
}

// 0: none of its own.
int64_t gguf_pooling_type(Pooling pooling) {
  switch (pooling) {
    case Pooling::mean: return 1;
    case Pooling::first: return 2;
    case Pooling::last: return 3;
    case Pooling::max:
    case Pooling::mean_sqrt_length: break;
  }
  return 0;
}

int64_t aligned(int64_t at) { return rounded_up(at, gguf_alignment); }

GgufKeys keys_of(const GgufSource& source, const GgufArchitecture& architecture, const TransformerConfig& held,
                 uint32_t file_type) {
  const std::string prefix = std::string(architecture.name) + ".";
  const bool is_translator = held.architecture == Architecture::encoder_decoder;
  GgufKeys keys;
  keys.text("general.architecture", architecture.name);
  if (!source.name.empty()) keys.text("general.name", source.name);
  keys.count("general.alignment", gguf_alignment);
  keys.count("general.file_type", file_type);
  keys.count("general.quantization_version", 2);
  add_config(keys, architecture.name, held);
  if (const int64_t pooling = source.pooling ? gguf_pooling_type(*source.pooling) : 0; pooling > 0)
    keys.count(prefix + "pooling_type", pooling);
  if (is_translator) keys.count(prefix + "decoder_start_token_id", source.tokenizer.special().bos);
  add_tokenizer(keys, source.tokenizer,
                {.rows = held.source_vocabulary,
                 .frame = source.tokenizer.frame(is_language_model(held.architecture),
                                                 held.architecture != Architecture::causal),
                 .token_types = held.token_types,
                 .starts_with_bos = !is_translator});
  if (!source.chat_template.empty()) keys.text("tokenizer.chat_template", source.chat_template);
  return keys;
}

}  // namespace

StoreParameter store_for_gguf(std::optional<WeightFormat> weights) {
  const StoreParameter held = store_for_inference({.weights = weights}),
                       plain = store_for_inference({.weights = WeightFormat::f32});
  return {[=](const Parameter& parameter, const StoredValues& values) {
    const bool fits =
        !weights || !parameter.is_matrix() || format_for_rows(*weights, parameter.shape()[1]) != WeightFormat::int8;
    (fits ? held : plain)(parameter, values);
  }};
}

void check_gguf_weights(WeightFormat weights) {
  require<UsageError>(weights != WeightFormat::int8, "convert",
                      "GGUF files cannot have int8 weights; the nearest format is q8_0 (--weights q8_0)");
}

void write_gguf(const std::filesystem::path& path, const GgufSource& source) {
  check_gguf_weights(source.weights);
  const TransformerConfig held = config_in_gguf(source.model.config().transformer());
  auto [architecture, plan] = chosen_architecture(source, held);
  set_types(plan, source.weights);
  const GgufKeys keys = keys_of(source, *architecture, held, file_type_of(plan));
  std::string head = gguf_begin(plan.size(), keys.size()) + keys.bytes();
  int64_t offset = 0;
  for (const PlannedTensor& tensor : plan) {
    append_gguf_text(head, tensor.name);
    append_gguf(head, static_cast<uint32_t>(tensor.shape.rank()));
    for (int axis = tensor.shape.rank() - 1; axis >= 0; --axis)
      append_gguf(head, static_cast<uint64_t>(tensor.shape[axis]));
    append_gguf(head, tensor.type->number);
    append_gguf(head, static_cast<uint64_t>(offset));
    offset = aligned(offset + tensor.bytes());
  }
  FileWriter file(path);
  const auto write = [&](std::string_view bytes) {
    file.write(bytes);
    file.write(std::string(static_cast<size_t>(aligned(std::ssize(bytes)) - std::ssize(bytes)), '\0'));
  };
  write(head);
  for (const PlannedTensor& tensor : plan) write(bytes_of(tensor));
  file.commit();
}

}  // namespace qkv
