#include <algorithm>
#include <charconv>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <utility>

#include <fmt/ranges.h>

#include "python/src/bind.h"
#include "python/src/callback.h"
#include "python/src/text.h"
#include "qkv/base/json.h"
#include "qkv/base/threads.h"
#include "qkv/layer/attention_variant_text.h"
#include "qkv/model/architecture_table.h"
#include "qkv/train/defaults.h"
#include "qkv/train/option_table.h"
#include "qkv/train/train.h"

namespace qkv::python {
namespace {

template <class... Args>
[[noreturn]] void type_error(fmt::format_string<Args...> format, Args&&... args) {
  throw nb::type_error(fmt::format(format, std::forward<Args>(args)...).c_str());
}

// "max-steps" is max_steps in Python.
std::string python_name(const Setting& setting) {
  std::string name = setting.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// Calls visitor(Setting, field) for every option of a training.
template <class Visitor>
void visit_all(TrainOptions& o, Visitor&& visitor) {
  const auto without_change = [&](const Setting& setting, auto& field, OnResume) { visitor(setting, field); };
  option_table::visit_data(o, without_change);
  visit_architecture(o.architecture, visitor);
  option_table::visit_update(o, without_change);
  option_table::visit_run(o, without_change);
}

// Rows (name, value, unit, help). No value: it depends on the corpus.
struct List {
  nb::list rows = {};
  std::vector<std::string> by_corpus = options_by_corpus();

  template <class T>
  void operator()(const Setting& setting, const T& value) {
    std::string unit = setting.unit;
    if constexpr (WithNames<T>) unit = fmt::format("{}", fmt::join(all_names<T>(), "|"));
    const bool has_default = std::find(by_corpus.begin(), by_corpus.end(), setting.name) == by_corpus.end();
    rows.append(
        nb::make_tuple(python_name(setting), has_default ? object_of(value) : nb::none(), unit, setting.help));
  }

  template <class T>
  static nb::object object_of(const T& value) {
    if constexpr (WithNames<T>) {
      return text_of(name_of(value));
    } else if constexpr (std::is_assignable_v<T&, AttentionPattern>) {
      return text_of(to_string(value));
    } else if constexpr (std::is_same_v<T, Seconds>) {
      return text_of(duration_text(value));
    } else if constexpr (std::is_same_v<T, CorpusPaths>) {
      return text_of(to_string(value));
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

// Takes the fields that are in a dict.
struct Read {
  const nb::dict& given;
  std::vector<std::string> known = {};

  template <class T>
  void operator()(const Setting& setting, T& value) {
    const std::string name = known.emplace_back(python_name(setting));
    if (!given.contains(name.c_str())) return;
    const nb::object object = given[name.c_str()];
    if constexpr (WithNames<T>) {
      value = value_named<T>(string_of(object, ("train: " + name).c_str()), "train", name);
    } else if constexpr (std::is_assignable_v<T&, AttentionPattern>) {
      value = attention_pattern(string_of(object, ("train: " + name).c_str()), "train: " + name);
    } else if constexpr (std::is_same_v<T, Seconds>) {
      double seconds = 0;  // or a text: "30m"
      value = !PyBool_Check(object.ptr()) && nb::try_cast(object, seconds)
                  ? Seconds(seconds)
                  : seconds_from_text(string_of(object, ("train: " + name).c_str()), "train", name);
    } else if constexpr (std::is_same_v<T, std::string>) {
      std::filesystem::path file;
      if (!nb::try_cast(object, file)) refuse(name, "the name of a file", object);
      value = file.string();
    } else if constexpr (std::is_same_v<T, CorpusPaths>) {
      value = corpora_of(object, name);
    } else if constexpr (std::is_same_v<T, bool>) {
      if (!nb::try_cast(object, value)) refuse(name, "True or False", object);
    } else if constexpr (std::is_integral_v<T>) {
      if (!PyIndex_Check(object.ptr()) || PyBool_Check(object.ptr())) refuse(name, "an integer", object);
      const nb::object number = nb::steal(PyNumber_Index(object.ptr()));
      if (!nb::try_cast(number, value))
        fail<UsageError>("train", "{} is out of range: {}", name, nb::str(number).c_str());
    } else {
      double number = 0;
      if (PyBool_Check(object.ptr()) || !nb::try_cast(object, number)) refuse(name, "a number", object);
      value = static_cast<T>(number);
    }
  }

  // The name of a file, or a list of them.
  static CorpusPaths corpora_of(const nb::object& object, const std::string& name) {
    std::filesystem::path file;
    if (nb::try_cast(object, file)) return {file.string()};
    const char* wanted = "the name of a file or a list of such names";
    if (!PySequence_Check(object.ptr()) || PyBytes_Check(object.ptr())) refuse(name, wanted, object);
    CorpusPaths corpora;
    for (const nb::handle item : object) {
      if (!nb::try_cast(item, file)) refuse(name, wanted, object);
      corpora.list.push_back(file.string());
    }
    return corpora;
  }

  [[noreturn]] static void refuse(const std::string& name, const char* wanted, nb::handle got) {
    type_error("train: {} must be {}, got {}", name, wanted, nb::repr(got).c_str());
  }

  void refuse_unknown() const {
    const std::vector<std::string_view> names(known.begin(), known.end());
    for (const auto& [key, value] : given) {
      const std::string name = nb::cast<std::string>(key);
      if (std::find(names.begin(), names.end(), name) == names.end())
        type_error("train: there is no option '{}'{}", name, did_you_mean(name, names));
    }
  }
};

nb::list list_options() {
  TrainOptions options = default_options({});
  List list;
  visit_all(options, list);
  return list.rows;
}

const char* name_of(StopReason stop_reason) {
  switch (stop_reason) {
    case StopReason::max_steps: return "max_steps";
    case StopReason::max_epochs: return "max_epochs";
    case StopReason::max_time: return "max_time";
    case StopReason::patience: return "patience";
    case StopReason::interrupted: return "interrupted";
  }
  return "?";
}

nb::dict dict_of(const TrainResult& r) {
  nb::dict out;
  out["stop_reason"] = name_of(r.stop_reason);
  out["steps"] = r.steps;
  out["epochs"] = r.epochs;
  out["loss"] = r.loss;
  out["validation"] =
      r.validation ? nb::object(nb::make_tuple(r.validation->loss, r.validation->perplexity(),
                                               nb::cast(r.validation->bleu), nb::cast(r.validation->accuracy)))
                   : nb::none();
  out["best_step"] = r.best_step;
  out["seconds"] = r.seconds;
  out["tokens_per_s"] = r.tokens_per_s;
  out["peak_bytes"] = r.peak_bytes;
  return out;
}

// A pair: the result, and the signal that interrupted the training, or 0.
nb::tuple train_model(const std::filesystem::path& model, const std::optional<std::string>& recipe_name,
                      bool resume, bool overwrite, bool quiet, const nb::dict& given, nb::handle on_record) {
  TrainOptions options;
  Read read{given};
  visit_all(options, read);
  read.refuse_unknown();
  const auto apply = [&](TrainOptions& defaults) {
    const nb::gil_scoped_acquire locked;
    visit_all(defaults, read);
    defaults.overwrite = overwrite;
    defaults.quiet = quiet;
  };
  const Callback callback(on_record);
  TrainResult result;
  {
    const nb::gil_scoped_release unlocked;
    options = options_for({.model = model,
                           .train = options.train,
                           .valid = options.valid,
                           .recipe = recipe_name,
                           .architecture = options.architecture.architecture,
                           .init = options.init,
                           .max_time = options.max_time,
                           .resume = resume},
                          apply);
    options.before_updates = check_signals;  // Ctrl-C while sentences were read
    // With the line of log.jsonl; the function returns whether the training goes on, and throws nothing (_train.py).
    if (callback)
      options.on_record = [&](const Json& record) {
        const nb::gil_scoped_acquire locked;
        return nb::cast<bool>(callback(text_of(record.dump())));
      };
    result = train(options);
  }
  return nb::make_tuple(dict_of(result), result.signal);
}

}  // namespace

void bind_training(nb::module_& m) {
  m.def("train_options", &list_options);
  m.def("attention_mechanisms_help", &attention_mechanisms_help);
  m.def("train", &train_model, nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg().none());
}

}  // namespace qkv::python
