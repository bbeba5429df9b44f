#include "qkv/pipeline/translator.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/array.h"
#include "python/src/bind.h"
#include "python/src/inspection.h"
#include "python/src/text.h"
#include "qkv/model/describe.h"
#include "qkv/model/model_file.h"
#include "qkv/pipeline/generation_config.h"

namespace qkv::python {
namespace {

nb::tuple tuple_of(const Candidate& a) {
  return nb::make_tuple(text_of(a.text), a.score, a.log_probability, texts_of(a.tokens),
                        a.alignment.defined() ? nb::object(array_of(a.alignment, true)) : nb::none());
}

// A tuple for every sentence: ([an answer, ...], source tokens, whether the source was cut).
nb::list translate(const Translator& translator, nb::list sentences, nb::list prefixes, TranslateOptions options) {
  const std::vector<std::string> lines = strings_of(sentences, "translate");
  options.prefixes = strings_of(prefixes, "translate: prefixes");
  std::vector<Translation> translations;
  {
    const nb::gil_scoped_release unlocked;
    translations = translator.translate(lines, options, [](int64_t) { check_signals(); });
  }
  nb::list out;
  for (const Translation& t : translations) {
    nb::list answers;
    for (const Candidate& answer : t.n_best) answers.append(tuple_of(answer));
    out.append(nb::make_tuple(answers, texts_of(t.source_tokens), t.truncated));
  }
  return out;
}

nb::list score(const Translator& translator, nb::list sources, nb::list targets, int64_t batch_tokens,
               int64_t max_input_tokens) {
  const std::vector<std::string> from = strings_of(sources, "score: sources"),
                                 to = strings_of(targets, "score: targets");
  std::vector<PairScore> scores;
  {
    const nb::gil_scoped_release unlocked;
    scores = translator.score(from, to, {.batch_tokens = batch_tokens, .max_input_tokens = max_input_tokens},
                              [](int64_t) { check_signals(); });
  }
  nb::list out;
  for (const PairScore& s : scores)
    out.append(
        nb::make_tuple(s.log_probability, nb::cast(s.token_log_probabilities), texts_of(s.tokens), s.truncated));
  return out;
}

nb::tuple inspect(const Translator& translator, nb::handle sentence, nb::handle target,
                  const TranslateOptions& options) {
  InspectOptions how{.translate = options};
  if (!target.is_none()) how.target = string_of(target, "inspect: target");
  const std::string line = string_of(sentence, "inspect");
  Inspection e;
  {
    const nb::gil_scoped_release unlocked;
    e = inspect(translator, line, how);
  }
  return inspection_tuple(e);
}

}  // namespace

void bind_translator(nb::module_& m) {
  using namespace nb::literals;
  const TranslateOptions defaults;
  nb::class_<TranslateOptions>(m, "TranslateOptions")
      .def(
          "__init__",
          [](TranslateOptions* o, int64_t beam, double length_penalty, const std::string& length_normalization,
             int64_t n_best, int64_t max_length, int64_t min_length, int64_t no_repeat_ngram, bool early_stopping,
             bool eos_at_max_length, int64_t batch_tokens, int64_t max_input_tokens, bool alignment,
             bool alternatives, const std::string& source_language, const std::string& target_language) {
            new (o) TranslateOptions{.beam = beam,
                                     .length_penalty = length_penalty,
                                     .length_normalization = value_named<LengthNormalization>(
                                         length_normalization, "translate", "length_normalization"),
                                     .n_best = n_best,
                                     .max_length = max_length,
                                     .min_length = min_length,
                                     .no_repeat_ngram = no_repeat_ngram,
                                     .early_stopping = early_stopping,
                                     .eos_at_max_length = eos_at_max_length,
                                     .batch_tokens = batch_tokens,
                                     .max_input_tokens = max_input_tokens,
                                     .alignment = alignment,
                                     .alternatives = alternatives,
                                     .prefixes = {},
                                     .source_language = source_language,
                                     .target_language = target_language};
          },
          "beam"_a = defaults.beam, "length_penalty"_a = defaults.length_penalty,
          "length_normalization"_a = std::string(name_of(defaults.length_normalization)),
          "n_best"_a = defaults.n_best, "max_length"_a = defaults.max_length, "min_length"_a = defaults.min_length,
          "no_repeat_ngram"_a = defaults.no_repeat_ngram, "early_stopping"_a = defaults.early_stopping,
          "eos_at_max_length"_a = defaults.eos_at_max_length, "batch_tokens"_a = defaults.batch_tokens,
          "max_input_tokens"_a = defaults.max_input_tokens, "alignment"_a = defaults.alignment,
          "alternatives"_a = defaults.alternatives, "source_language"_a = "", "target_language"_a = "")
      .def_ro("beam", &TranslateOptions::beam)
      .def_ro("length_penalty", &TranslateOptions::length_penalty)
      .def_prop_ro("length_normalization",
                   [](const TranslateOptions& o) { return std::string(name_of(o.length_normalization)); })
      .def_ro("n_best", &TranslateOptions::n_best)
      .def_ro("max_length", &TranslateOptions::max_length)
      .def_ro("min_length", &TranslateOptions::min_length)
      .def_ro("no_repeat_ngram", &TranslateOptions::no_repeat_ngram)
      .def_ro("early_stopping", &TranslateOptions::early_stopping)
      .def_ro("eos_at_max_length", &TranslateOptions::eos_at_max_length)
      .def_ro("batch_tokens", &TranslateOptions::batch_tokens)
      .def_ro("max_input_tokens", &TranslateOptions::max_input_tokens)
      .def_ro("alignment", &TranslateOptions::alignment)
      .def_ro("alternatives", &TranslateOptions::alternatives)
      .def_ro("source_language", &TranslateOptions::source_language)
      .def_ro("target_language", &TranslateOptions::target_language);
  m.def("translate_defaults", [](const std::filesystem::path& folder) { return translate_defaults(folder); });
  nb::class_<Translator>(m, "Translator")
      .def(
          "__init__",
          [](Translator* t, const std::filesystem::path& folder, const std::optional<std::string>& weights) {
            const InferenceOptions options = inference_options(weights, "Translator");
            const nb::gil_scoped_release unlocked;
            new (t) Translator(folder, options);
          },
          "folder"_a, "weights"_a.none())
      .def("translate", &translate)
      .def("score", &score, "sources"_a, "targets"_a, "batch_tokens"_a, "max_input_tokens"_a)
      .def("inspect", &inspect, nb::arg(), nb::arg().none(), nb::arg())
      .def("config", [](const Translator& t) { return to_json(t.model().config()); })
      .def("describe",
           [](const Translator& t) { return describe(t.model().config(), {.weights = held_weights(t.model())}); });
}

}  // namespace qkv::python
