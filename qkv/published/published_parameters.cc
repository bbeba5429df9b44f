#include "qkv/published/published_parameters.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/ranges.h>

#include "qkv/base/counted.h"
#include "qkv/base/error.h"
#include "qkv/base/names.h"
#include "qkv/model/check_finite.h"

namespace qkv {
namespace {

// Tensors that training programs leave beside the weights: the code version of fairseq, the state of TransformerEngine.
bool is_bookkeeping(const std::string& name) {
  return name.ends_with("encoder.version") || name.ends_with("decoder.version") || name.ends_with("_extra_state");
}

// The tensors of a checkpoint by the names of its family, and which of them were read. The files may lack the prefix of
// the names, and a tensor that has a copy.
class NamedTensorsOf {
 public:
  NamedTensorsOf(const PublishedTensors& tensors, const TensorNames& names) : tensors_(tensors), names_(names) {
    const std::vector<std::string> all = tensors.names();
    has_prefix_ = names.prefix().empty() || std::any_of(all.begin(), all.end(), [&](const std::string& name) {
                    return name.starts_with(names.prefix());
                  });
    for (const auto* list : {&names.copies(), &names.fallbacks()})
      for (const auto& [copy, of] : *list)
        if (!has(of) && has(copy)) use_instead(of, copy);
  }

  bool has(const std::string& name) const { return tensors_.has(in_file(name)); }
  // Queries, keys and values may be rows of one tensor, so the last tensor read is kept.
  const StoredValues& get(const std::string& name) {
    const std::string stored = in_file(name);
    if (!last_ || last_->first != stored) last_.emplace(stored, tensors_.get(stored));
    read_.insert(stored);
    return last_->second;
  }
  void skip(const std::string& name) { read_.insert(in_file(name)); }
  void use_instead(const std::string& name, const std::string& copy) { instead_[name] = copy; }
  std::vector<std::string> left_over() const {
    std::vector<std::string> names;
    for (const std::string& name : tensors_.names())
      if (!read_.contains(name) && !names_.ignores(name) && !is_bookkeeping(name)) names.push_back(name);
    return names;
  }

 private:
  std::string in_file(const std::string& full) const {
    const auto found = instead_.find(full);
    const std::string& name = found == instead_.end() ? full : found->second;
    const bool strips = !has_prefix_ && name.starts_with(names_.prefix());
    std::string stored = strips ? name.substr(names_.prefix().size()) : name;
    // Norms in files of 2018 and 2019.
    for (const auto& [now, before] : {std::pair(".weight", ".gamma"), std::pair(".bias", ".beta")})
      if (stored.ends_with(now) && !tensors_.has(stored)) {
        std::string old = stored.substr(0, stored.size() - std::string_view(now).size()) + before;
        if (tensors_.has(old)) return old;
      }
    return stored;
  }

  const PublishedTensors& tensors_;
  const TensorNames& names_;
  bool has_prefix_ = true;
  std::map<std::string, std::string> instead_;  // of tensors that the files lack
  std::set<std::string> read_;
  std::optional<std::pair<std::string, StoredValues>> last_;
};

template <class Number>
bool same_numbers(const Tensor& a, const Tensor& b) {
  const std::span<const Number> x = a.span<Number>(), y = b.span<Number>();
  return std::equal(x.begin(), x.end(), y.begin(),
                    [](Number i, Number j) { return static_cast<float>(i) == static_cast<float>(j); });
}
bool same_values(const StoredValues& a, const StoredValues& b) {
  if (a.shape() != b.shape()) return false;
  if (is_quantized(a.format()) && a.format() == b.format())
    return std::ranges::equal(a.tensor().span<uint8_t>(), b.tensor().span<uint8_t>());
  const Tensor x = a.numbers(), y = b.numbers();
  if (x.dtype() == DType::bf16 && y.dtype() == DType::bf16) return same_numbers<bfloat16>(x, y);
  return same_numbers<float>(x.to(DType::f32), y.to(DType::f32));
}

// The tensors decide whether there is a head, not the config: a file may have a head that its config does not mention,
// or lack one, as many published sentence encoders do.
bool has_head(const TransformerConfig& config, const TensorNames& names, const NamedTensorsOf& tensors) {
  if (config.architecture != Architecture::masked)
    return names.output().empty() || ties_output(config.tie) || tensors.has(names.output());
  const auto transform = names.sources().find("head.transform.weight");
  return transform != names.sources().end() && tensors.has(transform->second.name);
}

// config.json may claim tied embeddings although the file has a separate output matrix, or claim the opposite and have
// none.
Tie tie_of(const TransformerConfig& config, const TensorNames& names, NamedTensorsOf& tensors) {
  if (names.output().empty()) return config.tie;
  const bool one_stack = is_language_model(config.architecture);
  const Tie tied = one_stack || ties_embeddings(config.tie) ? Tie::all : Tie::target;
  const Tie untied = one_stack || !ties_embeddings(config.tie) ? Tie::none : Tie::embeddings;
  if (!config.head) {
    tensors.skip(names.output());
    return tied;
  }
  if (!tensors.has(names.output())) return ties_output(config.tie) ? tied : untied;
  if (!ties_output(config.tie)) return untied;
  const std::string parameter = one_stack          ? "embedding.tokens"
                                : tied == Tie::all ? "source_embedding"
                                                   : "target_embedding";
  const std::string& embedding = names.sources().at(parameter).name;
  if (!tensors.has(embedding)) tensors.use_instead(embedding, names.output());
  const StoredValues output = tensors.get(names.output());
  if (!same_values(output, tensors.get(embedding))) return untied;
  tensors.skip(names.output());
  return tied;
}

// "a, b, c and 7 more"
std::string shown(const std::vector<std::string>& names) {
  constexpr size_t limit = 5;
  std::vector<std::string> quoted;
  for (size_t i = 0; i < std::min(names.size(), limit); ++i) quoted.push_back(quoted_name(names[i]));
  std::string text = fmt::format("{}", fmt::join(quoted, ", "));
  if (names.size() > limit) text += fmt::format(" and {} more", names.size() - limit);
  return text;
}

// A view where they are neighbors, such as the queries of a tensor of queries, keys and values.
Tensor rows_of(const Tensor& whole, const std::vector<int64_t>& rows) {
  const auto apart = [](int64_t a, int64_t b) { return b != a + 1; };
  if (std::adjacent_find(rows.begin(), rows.end(), apart) == rows.end())
    return whole.slice(0, rows.front(), rows.back() + 1);
  Shape shape = whole.shape();
  shape[0] = std::ssize(rows);
  Tensor taken = Tensor::empty(shape, whole.dtype());
  for (int64_t i = 0; i < std::ssize(rows); ++i) {
    const int64_t row = rows[static_cast<size_t>(i)];
    taken.slice(0, i, i + 1).copy_from(whole.slice(0, row, row + 1));
  }
  return taken;
}

// The part of a tensor, with the shape of the parameter.
StoredValues part_of(const StoredValues& whole, const TensorSource& source, const Shape& wanted,
                     const std::string& where) {
  StoredValues value = whole;
  if (source.part.transposed && whole.shape().rank() == 2)
    value = whole.numbers().transpose(0, 1).contiguous_copy();
  if (!source.part.rows.empty()) {
    const auto& rows = source.part.rows;
    const Shape& shape = value.shape();
    require<InputError>(shape.rank() >= 1 && *std::max_element(rows.begin(), rows.end()) < shape.dim(0), where,
                        "tensor {} is {}, and has fewer rows than the model reads from it",
                        quoted_name(source.name), whole.shape());
    const Tensor taken = rows_of(value.tensor(), rows);
    value = is_quantized(value.format()) ? StoredValues(taken, value.format(), shape.dim(1)) : taken;
  }
  const Shape& shape = value.shape();
  const bool is_one_row = shape.rank() == wanted.rank() + 1 && shape.dim(0) == 1;  // final_logits_bias
  if (is_one_row && shape.numel() == wanted.numel()) value = value.numbers().reshape(wanted);
  require<InputError>(value.shape() == wanted, where, "tensor {} gives {}, the model expects {}",
                      quoted_name(source.name), value.shape(), wanted);
  return value;
}

void read_tensors(const Model& model, const TensorNames& names, NamedTensorsOf& tensors, const std::string& where,
                  const StoreParameter& store) {
  std::vector<std::string> missing;
  model.for_each_parameter([&](const std::string& name, const Parameter& parameter) {
    const auto found = names.sources().find(name);
    require(found != names.sources().end() || name == "output", "family", "no tensor is named for parameter '{}'",
            name);
    const TensorSource source = name == "output" ? TensorSource{names.output()} : found->second;
    if (!tensors.has(source.name)) {
      if (source.is_optional) return store(parameter, Tensor::zeros(parameter.shape()));
      if (std::find(missing.begin(), missing.end(), source.name) == missing.end()) missing.push_back(source.name);
      return;
    }
    const StoredValues value = part_of(tensors.get(source.name), source, parameter.shape(), where);
    check_finite(value, where, source.name);
    store(parameter, value);
  });
  require<InputError>(missing.empty(), where, "{} missing: {}", counted(missing.size(), "tensor is", "tensors are"),
                      shown(missing));
  for (const auto& [copy, of] : names.copies()) {
    if (!tensors.has(copy)) continue;
    const StoredValues values = tensors.get(copy);
    require<InputError>(same_values(values, tensors.get(of)), where,
                        "tensor {} must be a copy of {}, but differs from it", quoted_name(copy), quoted_name(of));
  }
  for (const auto& [unread, of] : names.fallbacks()) tensors.skip(unread);
  const std::vector<std::string> left_over = tensors.left_over();
  require<InputError>(left_over.empty(), where, "{} not belong to this model: {}",
                      counted(left_over.size(), "tensor does", "tensors do"), shown(left_over));
}

}  // namespace

void read_published_parameters(PublishedModel& from, const std::function<Model&(const TransformerConfig&)>& make,
                               const StoreParameter& store) {
  if (store.maps) from.tensors.map();
  NamedTensorsOf tensors(from.tensors, from.names);
  from.config.head = has_head(from.config, from.names, tensors);
  from.config.tie = tie_of(from.config, from.names, tensors);
  const Model& model = make(from.config);
  // Before memory is allocated: every number in the files takes at least a byte.
  const bool is_one_file = from.config_file == from.tensors.where();
  require<InputError>(model.parameter_count() <= from.tensors.max_numbers(), from.tensors.where(),
                      "{} bytes cannot hold the {} parameters of {}", from.tensors.bytes(), model.parameter_count(),
                      is_one_file ? "the settings in it" : from.config_file);
  read_tensors(model, from.names, tensors, from.tensors.where(), store);
}

}  // namespace qkv
