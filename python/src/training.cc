#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "python/src/bind.h"
#include "python/src/callback.h"
#include "python/src/settings.h"
#include "python/src/text.h"
#include "qkv/base/json.h"
#include "qkv/base/threads.h"
#include "qkv/layer/attention_variant_text.h"
#include "qkv/model/architecture_settings.h"
#include "qkv/train/defaults.h"
#include "qkv/train/option_table.h"
#include "qkv/train/train.h"

namespace qkv::python {
namespace {

// Calls visitor(Setting, field) for every option of a training.
template <class Visitor>
void visit_all(TrainOptions& o, ArchitectureSettings& architecture, Visitor&& visitor) {
  const auto without_change = [&](const Setting& setting, auto& field, OnResume) { visitor(setting, field); };
  option_table::visit_data(o, without_change);
  architecture.visit(visitor);
  option_table::visit_update(o, without_change);
  option_table::visit_run(o, without_change);
}

// Without a default where the corpus decides.
nb::list list_options() {
  TrainOptions options = default_options({});
  ArchitectureSettings architecture(options.architecture);
  SettingRows rows{.without_default = options_by_corpus()};
  visit_all(options, architecture, rows);
  return rows.list;
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
  const ReadSettings read("train", given);
  ArchitectureSettings architecture(options.architecture);
  std::vector<std::string> known;
  visit_all(options, architecture, [&](const Setting& setting, auto& field) {
    known.push_back(python_name(setting));
    read(setting, field);
  });
  read.refuse_unknown(known);
  const auto apply = [&](TrainOptions& defaults) {
    const nb::gil_scoped_acquire locked;
    ArchitectureSettings settings(defaults.architecture);
    visit_all(defaults, settings, read);
    defaults.architecture = settings.config("train");
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
                           .architecture = architecture.architecture(),
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
