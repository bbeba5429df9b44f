#include "qkv/model/family/read_family.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/core.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/json.h"
#include "qkv/base/names.h"
#include "qkv/model/check_finite.h"
#include "qkv/model/family/ctranslate2.h"
#include "qkv/model/family/family.h"
#include "qkv/model/family/llama2c.h"
#include "qkv/model/family/marian_folder.h"
#include "qkv/model/family/min_gpt.h"
#include "qkv/model/family/rope.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

constexpr const char* config_file = "config.json";

HfConfig open_config(const fs::path& folder) {
  const fs::path path = folder / config_file;
  return {read_file(path, JsonLimits{}.bytes), path.string()};
}

// What make() makes, which is checked; its errors are those of the file.
template <class Make>
TransformerConfig checked_config(const std::string& file, Make make) {
  try {
    TransformerConfig config = make();
    config.check();
    return config;
  } catch (const UsageError& error) {
    fail<InputError>(file, "{}", error.what());
  }
}

TransformerConfig config_of(const HfConfig& hf) {
  const Family& family = family_of(hf);
  return checked_config(hf.file(), [&] {
    TransformerConfig config = family.config(hf);
    if (!config.has_position_limit()) config.context_length = read_context_length(hf);
    return config;
  });
}

// The tensors of a checkpoint by the names of its family, whose prefix the files may lack, as may be a tensor of which there
// is a copy; and which of them were read.
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
  // Queries, keys and values may be rows of one tensor: the last one read is kept.
  const Tensor& get(const std::string& name) {
    const std::string stored = in_file(name);
    if (last_.first != stored) last_ = {stored, tensors_.get(stored)};
    read_.insert(stored);
    return last_.second;
  }
  void skip(const std::string& name) { read_.insert(in_file(name)); }
  void use_instead(const std::string& name, const std::string& copy) { instead_[name] = copy; }
  std::vector<std::string> left_over() const {
    std::vector<std::string> names;
    for (const std::string& name : tensors_.names())
      if (!read_.contains(name) && !names_.ignores(name)) names.push_back(name);
    return names;
  }

 private:
  std::string in_file(const std::string& full) const {
    const auto found = instead_.find(full);
    const std::string& name = found == instead_.end() ? full : found->second;
    const bool strips = !has_prefix_ && name.starts_with(names_.prefix());
    const std::string stored = strips ? name.substr(names_.prefix().size()) : name;
    // Norms in files of 2018 and 2019.
    for (const auto& [now, before] : {std::pair(".weight", ".gamma"), std::pair(".bias", ".beta")})
      if (stored.ends_with(now) && !tensors_.has(stored)) {
        const std::string old = stored.substr(0, stored.size() - std::string_view(now).size()) + before;
        if (tensors_.has(old)) return old;
      }
    return stored;
  }

  const PublishedTensors& tensors_;
  const TensorNames& names_;
  bool has_prefix_ = true;
  std::map<std::string, std::string> instead_;  // of tensors that the files lack
  std::set<std::string> read_;
  std::pair<std::string, Tensor> last_;
};

bool same_values(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() &&
         std::equal(a.span<float>().begin(), a.span<float>().end(), b.span<float>().begin());
}

// A file may say that the matrix of the logits is that of an embedding and hold another one, or hold none.
Tie tie_of(const TransformerConfig& config, const TensorNames& names, NamedTensorsOf& tensors) {
  if (names.output().empty()) return config.tie;
  const bool one_stack = is_language_model(config.architecture);
  const Tie tied = one_stack || ties_embeddings(config.tie) ? Tie::all : Tie::target;
  const Tie untied = one_stack || !ties_embeddings(config.tie) ? Tie::none : Tie::embeddings;
  if (!tensors.has(names.output())) return tied;
  if (!ties_output(config.tie)) return untied;
  const std::string parameter = one_stack          ? "embedding.tokens"
                                : tied == Tie::all ? "source_embedding"
                                                   : "target_embedding";
  const std::string& embedding = names.sources().at(parameter).name;
  if (!tensors.has(embedding)) tensors.use_instead(embedding, names.output());
  const Tensor output = tensors.get(names.output());
  if (!same_values(output, tensors.get(embedding))) return untied;
  tensors.skip(names.output());
  return tied;
}

// "a, b, c and 7 more"
std::string shown(const std::vector<std::string>& names) {
  constexpr size_t limit = 5;
  std::vector<std::string> quoted;
  for (size_t i = 0; i < std::min(names.size(), limit); ++i) quoted.push_back(quoted_name(names[i]));
  std::string text = name_list(quoted);
  if (names.size() > limit) text += fmt::format(" and {} more", names.size() - limit);
  return text;
}

// The part of a tensor, with the shape of the parameter.
Tensor part_of(const Tensor& whole, const TensorSource& source, const Shape& wanted, const std::string& where) {
  Tensor value = source.part.transposed && whole.rank() == 2 ? whole.transpose(0, 1).contiguous_copy() : whole;
  if (!source.part.rows.empty()) {
    const auto& rows = source.part.rows;
    require<InputError>(value.rank() >= 1 && *std::max_element(rows.begin(), rows.end()) < value.dim(0), where,
                        "tensor {} is {}, and has fewer rows than the model reads from it",
                        quoted_name(source.name), whole.shape());
    Shape shape = value.shape();
    shape[0] = std::ssize(rows);
    Tensor taken = Tensor::empty(shape);
    const int64_t width = value.numel() / value.dim(0);
    for (size_t i = 0; i < rows.size(); ++i)
      std::copy_n(value.data<float>() + rows[i] * width, width,
                  taken.data<float>() + static_cast<int64_t>(i) * width);
    value = taken;
  }
  if (value.rank() == wanted.rank() + 1 && value.dim(0) == 1) value = value.reshape(wanted);  // final_logits_bias
  require<InputError>(value.shape() == wanted, where, "tensor {} gives {}, the model expects {}",
                      quoted_name(source.name), value.shape(), wanted);
  return value;
}

void read_tensors(const Model& model, const TensorNames& names, NamedTensorsOf& tensors, const std::string& where) {
  std::vector<std::string> missing;
  model.visit([&](const std::string& parameter, Variable& variable) {
    const auto found = names.sources().find(parameter);
    require(found != names.sources().end() || parameter == "output", "family",
            "no tensor is named for parameter '{}'", parameter);
    const TensorSource source = parameter == "output" ? TensorSource{names.output()} : found->second;
    if (!tensors.has(source.name)) {
      if (source.is_optional) return variable.mutable_value().fill(0);
      if (std::find(missing.begin(), missing.end(), source.name) == missing.end()) missing.push_back(source.name);
      return;
    }
    const Tensor value = part_of(tensors.get(source.name), source, variable.shape(), where);
    check_finite(value, where, source.name);
    variable.mutable_value().copy_from(value);
  });
  require<InputError>(missing.empty(), where, "{} tensors are missing: {}", missing.size(), shown(missing));
  for (const auto& [copy, of] : names.copies()) {
    if (!tensors.has(copy)) continue;
    const Tensor values = tensors.get(copy);
    require<InputError>(same_values(values, tensors.get(of)), where, "tensor {} differs from {}, whose copy it is",
                        quoted_name(copy), quoted_name(of));
  }
  for (const auto& [unread, of] : names.fallbacks()) tensors.skip(unread);
  const std::vector<std::string> left_over = tensors.left_over();
  require<InputError>(left_over.empty(), where, "{} tensors do not belong to this model: {}", left_over.size(),
                      shown(left_over));
}

// Formats that are not Hugging Face's.
struct Format {
  bool (*is_in)(const fs::path& folder);
  PublishedModel (*read)(const fs::path& folder);
};
constexpr Format formats[] = {{is_ctranslate2_folder, read_ctranslate2},
                              {is_marian_folder, read_marian},
                              {is_llama2c_folder, read_llama2c},
                              {is_min_gpt_folder, read_min_gpt}};

const Format* format_of(const fs::path& folder) {
  for (const Format& format : formats)
    if (format.is_in(folder)) return &format;
  return nullptr;
}

PublishedModel open_published(const fs::path& folder) {
  if (const Format* format = format_of(folder)) {
    PublishedModel model = format->read(folder);
    checked_config(model.config_file, [&] { return model.config; });
    return model;
  }
  const HfConfig hf = open_config(folder);
  const TransformerConfig config = config_of(hf);
  return {config, family_of(hf).tensors(hf, config), PublishedTensors::open(folder), hf.file()};
}

}  // namespace

bool is_published(const fs::path& folder) {
  if (file_exists(folder / "training" / "committed" / config_file)) return false;  // ours, about to be replaced
  if (format_of(folder) != nullptr) return true;
  const fs::path file = folder / config_file;
  if (!file_exists(file)) return false;
  const auto json = parse_json_object(read_file(file, JsonLimits{}.bytes), file.string());
  return json.contains("model_type") && !json.contains("format");
}

TransformerConfig read_family_config(const fs::path& folder) {
  return format_of(folder) != nullptr ? open_published(folder).config : config_of(open_config(folder));
}

void read_family(const fs::path& folder, const std::function<Model&(const TransformerConfig&)>& make) {
  PublishedModel from = open_published(folder);
  NamedTensorsOf tensors(from.tensors, from.names);
  from.config.tie = tie_of(from.config, from.names, tensors);
  const Model& model = make(from.config);
  // Before memory is allocated: every number in the files takes at least a byte.
  require<InputError>(model.parameter_count() <= from.tensors.bytes(), from.tensors.where(),
                      "{} bytes cannot hold the {} parameters of {}", from.tensors.bytes(), model.parameter_count(),
                      from.config_file);
  read_tensors(model, from.names, tensors, from.tensors.where());
}

}  // namespace qkv
