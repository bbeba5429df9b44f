#include "qkv/published/huggingface/hf_config.h"

#include <algorithm>
#include <cmath>

#include "qkv/base/error.h"
#include "qkv/base/json.h"

namespace qkv {

struct HfConfig::Values {
  Json json;

  const Json* find(const Key& key) const {
    for (const char* name : key.names)
      if (const Json* at = json.find(name); at && !at->is_null()) return at;
    return nullptr;
  }
};

namespace {

std::string_view name_of(const HfConfig::Key& key) { return key.names.front(); }

[[noreturn]] void wrong(const HfConfig& config, const HfConfig::Key& key, std::string_view expected,
                        const Json& got) {
  fail<InputError>(config.file(), "'{}' must be {}, got {}", name_of(key), expected, shown_json(got));
}

[[noreturn]] void missing(const HfConfig& config, const HfConfig::Key& key) {
  fail<InputError>(config.file(), "there is no '{}'", name_of(key));
}

struct NamedActivation {
  std::string_view name;
  Activation activation;
};
constexpr NamedActivation activations[] = {
    {"relu", Activation::relu},           {"gelu", Activation::gelu},
    {"gelu_new", Activation::gelu_tanh},  {"gelu_pytorch_tanh", Activation::gelu_tanh},
    {"gelu_fast", Activation::gelu_tanh}, {"silu", Activation::silu},
    {"swish", Activation::silu},          {"quick_gelu", Activation::quick_gelu},
};

}  // namespace

HfConfig::HfConfig(std::string_view json, std::string file)
    : values_(std::make_unique<Values>(Values{parse_json_object(without_bare_infinities(json), file)})),
      file_(std::move(file)) {}
HfConfig::HfConfig(std::unique_ptr<Values> values, std::string file)
    : values_(std::move(values)), file_(std::move(file)) {}
HfConfig::~HfConfig() = default;
HfConfig::HfConfig(HfConfig&&) noexcept = default;
HfConfig& HfConfig::operator=(HfConfig&&) noexcept = default;

bool HfConfig::has(const Key& key) const { return values_->find(key) != nullptr; }

bool HfConfig::is_null(const Key& key) const {
  for (const char* name : key.names)
    if (values_->json.contains(name) && values_->json[name].is_null()) return true;
  return false;
}

int64_t HfConfig::integer(const Key& key, int64_t smallest) const {
  const Json* value = values_->find(key);
  if (!value) missing(*this, key);
  constexpr int64_t largest = int64_t{1} << 24;
  const bool fits = value->is_number_integer() &&
                    (!value->is_number_unsigned() || value->get<uint64_t>() <= largest) &&
                    value->get<int64_t>() >= smallest && value->get<int64_t>() <= largest;
  if (!fits) wrong(*this, key, fmt::format("an integer from {} to {}", smallest, largest), *value);
  return value->get<int64_t>();
}

int64_t HfConfig::count(const Key& key) const { return integer(key, 1); }

int64_t HfConfig::index(const Key& key, int64_t absent) const { return has(key) ? integer(key, 0) : absent; }

int64_t HfConfig::count(const Key& key, int64_t absent) const { return has(key) ? count(key) : absent; }

double HfConfig::number(const Key& key) const {
  const Json* value = values_->find(key);
  if (!value) missing(*this, key);
  if (!value->is_number() || !std::isfinite(value->get<double>())) wrong(*this, key, "a number", *value);
  return value->get<double>();
}

double HfConfig::number(const Key& key, double absent) const { return has(key) ? number(key) : absent; }

std::optional<double> HfConfig::number_or_none(const Key& key, std::optional<double> absent) const {
  if (has(key)) return number(key);
  return is_null(key) ? std::nullopt : absent;
}

std::optional<int64_t> HfConfig::count_or_none(const Key& key, std::optional<int64_t> absent) const {
  if (has(key)) return count(key);
  return is_null(key) ? std::nullopt : absent;
}

bool HfConfig::flag(const Key& key, bool absent) const {
  const Json* value = values_->find(key);
  if (!value) return absent;
  if (!value->is_boolean()) wrong(*this, key, "true or false", *value);
  return value->get<bool>();
}

std::string HfConfig::text(const Key& key) const {
  const Json* value = values_->find(key);
  if (!value) missing(*this, key);
  if (!value->is_string()) wrong(*this, key, "a string", *value);
  return value->get<std::string>();
}

std::string HfConfig::text(const Key& key, const std::string& absent) const {
  return has(key) ? text(key) : absent;
}

bool HfConfig::says(const Key& key, std::string_view text) const {
  const Json* value = values_->find(key);
  return value && value->is_string() && value->get<std::string>() == text;
}

std::vector<std::string> HfConfig::texts(const Key& key) const {
  const Json* value = values_->find(key);
  if (!value) return {};
  std::vector<std::string> out;
  if (!value->is_array()) wrong(*this, key, "a list of strings", *value);
  for (const Json& item : *value) {
    if (!item.is_string()) wrong(*this, key, "a list of strings", *value);
    out.push_back(item.get<std::string>());
  }
  return out;
}

std::vector<double> HfConfig::numbers(const Key& key) const {
  const Json* value = values_->find(key);
  if (!value) return {};
  std::vector<double> out;
  if (!value->is_array()) wrong(*this, key, "a list of numbers", *value);
  for (const Json& item : *value) {
    if (!item.is_number() || !std::isfinite(item.get<double>())) wrong(*this, key, "a list of numbers", *value);
    out.push_back(item.get<double>());
  }
  return out;
}

std::vector<double> HfConfig::numbers_or_one(const Key& key, double absent) const {
  const Json* value = values_->find(key);
  if (value && value->is_array()) return numbers(key);
  return {number(key, absent)};
}

Activation HfConfig::activation(const Key& key, Activation absent) const {
  return has(key) ? activation_named(key, text(key)) : absent;
}

Activation HfConfig::activation_named(const Key& key, std::string_view name) const {
  for (const auto& [known, activation] : activations)
    if (name == known) return activation;
  std::vector<std::string_view> names;
  for (const auto& known : activations) names.push_back(known.name);
  fail<InputError>(file_, "'{}' must be one of {}, got {}{}", name_of(key), name_list(names),
                   quoted_name(std::string(name)), did_you_mean(name, names));
}

std::optional<HfConfig> HfConfig::part(const Key& key) const {
  const Json* value = values_->find(key);
  if (!value) return {};
  if (!value->is_object()) wrong(*this, key, "an object", *value);
  return HfConfig(std::make_unique<Values>(Values{*value}), fmt::format("{}: '{}'", file_, name_of(key)));
}

std::string without_bare_infinities(std::string_view json) {
  std::string out;
  bool in_string = false;
  for (size_t at = 0; at < json.size();) {
    const std::string_view rest = json.substr(at);
    std::string_view word;
    if (!in_string)
      for (const std::string_view known : {"Infinity", "-Infinity", "NaN"})
        if (rest.starts_with(known)) word = known;
    if (!word.empty()) {
      out += fmt::format("\"{}\"", word);
      at += word.size();
      continue;
    }
    if (rest.front() == '"') in_string = !in_string;
    const size_t taken = in_string && rest.front() == '\\' ? std::min<size_t>(2, rest.size()) : 1;
    out += rest.substr(0, taken);
    at += taken;
  }
  return out;
}

void HfConfig::refuse(const Key& key, std::string_view why) const {
  const Json* value = values_->find(key);
  fail<InputError>(file_, "'{}' is {}: {}", name_of(key), value ? shown_json(*value).text() : "missing", why);
}

}  // namespace qkv
