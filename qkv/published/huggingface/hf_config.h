// The settings of a config.json of Hugging Face, which is not trusted: each is read by its name and checked.
//
//     const HfConfig config(read_file("llama/config.json"), "llama/config.json");
//     config.count("num_attention_heads")                 // an InputError where it is missing or not an integer from 1
//     config.count("num_key_value_heads", heads)          // where it is missing or null: heads
//
// A name may have older aliases: config.count({"num_hidden_layers", "n_layer"}). Only settings that are asked for are
// checked, because these files hold many for other programs. Infinity and NaN, which Python writes, are errors only in
// a setting that is asked for.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/layer/activation.h"

namespace qkv {

class HfConfig {
 public:
  // One name or several; the first that is in the file counts.
  struct Key {
    std::vector<const char*> names;
    Key(const char* name) : names{name} {}                               // NOLINT: implicit on purpose
    Key(std::initializer_list<const char*> aliases) : names(aliases) {}  // NOLINT
  };

  HfConfig(std::string_view json, std::string file);
  ~HfConfig();
  HfConfig(const HfConfig&) = delete;
  HfConfig& operator=(const HfConfig&) = delete;
  HfConfig(HfConfig&&) noexcept;
  HfConfig& operator=(HfConfig&&) noexcept;

  const std::string& file() const { return file_; }  // for messages
  std::string model_type() const { return text("model_type"); }
  bool has(const Key& key) const;      // and it is not null
  bool is_null(const Key& key) const;  // it is there, and it is null

  int64_t count(const Key& key) const;  // 1 to 2^24
  int64_t count(const Key& key, int64_t absent) const;
  int64_t index(const Key& key, int64_t absent) const;  // 0 to 2^24
  double number(const Key& key) const;
  double number(const Key& key, double absent) const;
  bool flag(const Key& key, bool absent) const;
  std::string text(const Key& key) const;
  std::string text(const Key& key, const std::string& absent) const;
  // null: none
  std::optional<double> number_or_none(const Key& key, std::optional<double> absent) const;
  std::optional<int64_t> count_or_none(const Key& key, std::optional<int64_t> absent) const;
  std::vector<std::string> texts(const Key& key) const;  // of a list; missing: none
  std::vector<double> numbers(const Key& key) const;
  std::vector<double> numbers_or_one(const Key& key, double absent) const;  // of a list, or a number
  Activation activation(const Key& key, Activation absent) const;
  Activation activation_named(const Key& key, std::string_view name) const;  // given in a part of this setting
  bool says(const Key& key, std::string_view text) const;                    // whether it is this string
  // The settings in an object of this name; missing or null: none.
  std::optional<HfConfig> part(const Key& key) const;

  // InputError that says why the value of this setting cannot be computed.
  void refuse(const Key& key, std::string_view why) const;

 private:
  int64_t integer(const Key& key, int64_t smallest) const;
  struct Values;
  HfConfig(std::unique_ptr<Values> values, std::string file);
  std::unique_ptr<Values> values_;
  std::string file_;
};

// The text with Infinity, -Infinity and NaN, which JSON does not have, as strings: "Infinity".
std::string without_bare_infinities(std::string_view json);

}  // namespace qkv
