#include "qkv/pipeline/translator.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/array.h"
#include "python/src/bind.h"
#include "python/src/inspection.h"
#include "python/src/settings.h"
#include "python/src/text.h"
#include "qkv/decode/option_table.h"
#include "qkv/model/describe.h"
#include "qkv/model/model_file.h"
#include "qkv/pipeline/generation_config.h"

namespace qkv::python {
namespace {

nb::tuple tuple_of(const Candidate& a) {
  return nb::make_tuple(text_of(a.text), a.score, a.log_probability, texts_of(a.tokens),
                        a.alignment.defined() ? nb::object(array_of(a.alignment, true)) : nb::none());
}

// The defaults of the model, and over them what is given.
TranslateOptions options_of(const Translator& translator, const nb::dict& given, const char* where) {
  TranslateOptions options = translator.defaults();
  ReadSettings(where, given).into(options);
  return options;
}

// A tuple for every sentence: ([an answer, ...], source tokens, whether the source was cut).
// terms: pairs of texts.
nb::list translate(const Translator& translator, nb::list sentences, nb::list prefixes, nb::list terms,
                   const nb::dict& given) {
  TranslateOptions options = options_of(translator, given, "Translator.translate");
  const std::vector<std::string> lines = strings_of(sentences, "translate");
  options.prefixes = strings_of(prefixes, "translate: prefixes");
  for (const nb::handle pair : terms)
    options.terms.push_back({string_of(pair[0], "translate: terms"), string_of(pair[1], "translate: terms")});
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

nb::list score(const Translator& translator, nb::list sources, nb::list targets, const nb::dict& given) {
  ScorePairsOptions options;
  ReadSettings("Translator.score", given).into(options);
  const std::vector<std::string> from = strings_of(sources, "score: sources"),
                                 to = strings_of(targets, "score: targets");
  std::vector<PairScore> scores;
  {
    const nb::gil_scoped_release unlocked;
    scores = translator.score(from, to, options, [](int64_t) { check_signals(); });
  }
  nb::list out;
  for (const PairScore& s : scores)
    out.append(
        nb::make_tuple(s.log_probability, nb::cast(s.token_log_probabilities), texts_of(s.tokens), s.truncated));
  return out;
}

nb::tuple inspect(const Translator& translator, nb::handle sentence, nb::handle target, nb::list ablate,
                  const nb::dict& given) {
  InspectOptions how{.translate = options_of(translator, given, "Translator.inspect")};
  if (!target.is_none()) how.target = string_of(target, "inspect: target");
  const std::string line = string_of(sentence, "inspect");
  const HeadAblation without(heads_of(ablate, translator.model().config(), "inspect: ablate"));
  Inspection e;
  {
    const nb::gil_scoped_release unlocked;
    e = inspect(translator, line, how);
  }
  return inspection_tuple(e);
}

nb::tuple ablate(const Translator& translator, nb::list heads, nb::list sources, nb::list references, bool bleu) {
  const std::vector<NamedHeads> groups = groups_of(heads, translator.model().config(), "ablate: heads");
  const std::vector<std::string> from = strings_of(sources, "ablate: sources"),
                                 to = strings_of(references, "ablate: references");
  Ablation found;
  {
    const nb::gil_scoped_release unlocked;
    found = ablate(translator, from, to, groups, {.bleu = bleu}, [](int64_t) { check_signals(); });
  }
  return ablation_tuple(found);
}

}  // namespace

void bind_translator(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Translator>(m, "Translator")
      .def(
          "__init__",
          [](Translator* t, const std::filesystem::path& folder, const std::optional<std::string>& weights,
             bool map, const std::string& precision, const std::string& cache,
             const std::optional<std::filesystem::path>& shortlist) {
            const InferenceOptions options = inference_options(weights, map, precision, "Translator", cache);
            const nb::gil_scoped_release unlocked;
            Translator translator(folder, options);
            if (shortlist) translator.use_shortlist(*shortlist);
            new (t) Translator(std::move(translator));
          },
          "folder"_a, "weights"_a.none(), "map"_a, "precision"_a, "cache"_a, "shortlist"_a.none())
      .def("translate", &translate)
      .def("score", &score)
      .def("inspect", &inspect, nb::arg(), nb::arg().none(), nb::arg(), nb::arg())
      .def("ablate", &ablate)
      .def("config", [](const Translator& t) { return to_json(t.model().config()); })
      .def("describe",
           [](const Translator& t) { return describe(t.model().config(), {.weights = held_weights(t.model())}); });
}

}  // namespace qkv::python
