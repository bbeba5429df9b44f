// Settings of a table (base/setting.h) as keyword arguments of Python: `max-steps` is max_steps.
//
//     TranslateOptions options;
//     const ReadSettings read("translate", given);               // a dict
//     read.into(options);                                        // TypeError or UsageError for what is wrong
//
//     SettingRows rows;
//     visit_options(options, rows);                              // rows.list: (name, default, type, unit, help)
#pragma once

#include <algorithm>
#include <charconv>
#include <nanobind/stl/string.h>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "python/src/text.h"
#include "qkv/base/names.h"
#include "qkv/base/setting.h"
#include "qkv/layer/attention_pattern.h"
#include "qkv/train/duration.h"
#include "qkv/train/options.h"

namespace qkv::python {

std::string python_name(const Setting& setting);
bool names_a_path(const Setting& setting);

template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;

// Its name, what it must be, and what was given.
[[noreturn]] void refuse_type(std::string_view where, std::string_view name, const char* wanted, nb::handle got);

// The fields that are in a dict; None stands for what is not given.
class ReadSettings {
 public:
  // `where` is the function in messages.
  ReadSettings(std::string where, const nb::dict& given) : where_(std::move(where)), given_(given) {}

  template <class Options>
  void into(Options& options) const {
    std::vector<std::string> known;
    visit_options(options, [&](const Setting& setting, auto& field, const auto&...) {
      known.push_back(python_name(setting));
      (*this)(setting, field);
    });
    refuse_unknown(known);
  }

  // The names of the settings, with dashes, that are given.
  std::set<std::string> names() const;
  void refuse_unknown(const std::vector<std::string>& known) const;

  template <class T, class... Rest>
  void operator()(const Setting& setting, T& value, const Rest&...) const {
    const std::string name = python_name(setting);
    if (!given_.contains(name.c_str())) return;
    const nb::object object = given_[name.c_str()];
    if (!object.is_none()) read(setting, name, object, value);
  }

 private:
  std::string text(const std::string& name, nb::handle object) const {
    return string_of(object, (where_ + ": " + name).c_str());
  }

  template <class T>
  void read(const Setting& setting, const std::string& name, const nb::object& object, T& value) const {
    if constexpr (is_optional<T>) {
      read(setting, name, object, value.emplace());
    } else if constexpr (WithNames<T>) {
      value = value_named<T>(text(name, object), where_, name);
    } else if constexpr (std::is_assignable_v<T&, AttentionPattern>) {
      value = attention_pattern(text(name, object), where_ + ": " + name);
    } else if constexpr (std::is_same_v<T, Seconds>) {
      double seconds = 0;  // or a text: "30m"
      value = !PyBool_Check(object.ptr()) && nb::try_cast(object, seconds)
                  ? Seconds(seconds)
                  : seconds_from_text(text(name, object), where_, name);
    } else if constexpr (std::is_same_v<T, CorpusPaths>) {
      value = corpora_of(name, object);
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      value = PyUnicode_Check(object.ptr()) ? std::vector{text(name, object)}
                                            : strings_of(object, (where_ + ": " + name).c_str());
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = names_a_path(setting) ? path_of(name, object) : text(name, object);
    } else if constexpr (std::is_same_v<T, bool>) {
      if (!nb::try_cast(object, value)) refuse_type(where_, name, "True or False", object);
    } else if constexpr (std::is_integral_v<T>) {
      if (!PyIndex_Check(object.ptr()) || PyBool_Check(object.ptr()))
        refuse_type(where_, name, "an integer", object);
      const nb::object number = nb::steal(PyNumber_Index(object.ptr()));
      if (!nb::try_cast(number, value))
        fail<UsageError>(where_, "{} is out of range: {}", name, nb::str(number).c_str());
    } else {
      double number = 0;
      if (PyBool_Check(object.ptr()) || !nb::try_cast(object, number))
        refuse_type(where_, name, "a number", object);
      value = static_cast<T>(number);
    }
  }
  std::string path_of(const std::string& name, const nb::object& object) const;
  CorpusPaths corpora_of(const std::string& name, const nb::object& object) const;

  const std::string where_;
  const nb::dict& given_;
};

// A tuple for each setting: (name, default, type, unit, help). The unit of one of several names is "wu|power".
struct SettingRows {
  nb::list list = {};
  std::vector<std::string> without_default = {};  // None instead

  template <class T, class... Rest>
  void operator()(const Setting& setting, const T& value, const Rest&...) {
    const bool has_default =
        std::find(without_default.begin(), without_default.end(), setting.name) == without_default.end();
    list.append(nb::make_tuple(python_name(setting), has_default ? object_of(value) : nb::none(),
                               type_of<T>(setting), unit_of<T>(setting), setting.help));
  }

 private:
  template <class T>
  static std::string unit_of(const Setting& setting) {
    if constexpr (is_optional<T>) return unit_of<typename T::value_type>(setting);
    if constexpr (WithNames<T>) return name_list(all_names<T>(), "|");
    return setting.unit;
  }

  // As it is written in an annotation.
  template <class T>
  static std::string type_of(const Setting& setting) {
    if constexpr (is_optional<T>) return type_of<typename T::value_type>(setting) + " | None";
    if constexpr (WithNames<T>) return "Literal[\"" + name_list(all_names<T>(), "\", \"") + "\"]";
    if constexpr (std::is_same_v<T, Seconds>) return "float | str";
    if constexpr (std::is_same_v<T, CorpusPaths>)
      return "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]";
    if constexpr (std::is_same_v<T, std::vector<std::string>>) return "str | Iterable[str]";
    if constexpr (std::is_same_v<T, bool>) return "bool";
    if constexpr (std::is_integral_v<T>) return "int";
    if constexpr (std::is_floating_point_v<T>) return "float";
    return names_a_path(setting) ? "str | os.PathLike[str]" : "str";
  }

  template <class T>
  static nb::object object_of(const T& value) {
    if constexpr (is_optional<T>) {
      return value ? object_of(*value) : nb::none();
    } else if constexpr (WithNames<T>) {
      return text_of(name_of(value));
    } else if constexpr (std::is_assignable_v<T&, AttentionPattern>) {
      return text_of(to_string(value));
    } else if constexpr (std::is_same_v<T, Seconds>) {
      return text_of(duration_text(value));
    } else if constexpr (std::is_same_v<T, CorpusPaths>) {
      return text_of(to_string(value));
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      return nb::tuple(texts_of(value));
    } else if constexpr (std::is_same_v<T, float>) {
      const std::string text = fmt::format("{}", value);
      double number = value;
      std::from_chars(text.data(), text.data() + text.size(), number);  // 0.1, not 0.10000000149
      return nb::cast(number);
    } else {
      return nb::cast(value);
    }
  }
};

}  // namespace qkv::python
