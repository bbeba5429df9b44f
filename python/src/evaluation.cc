#include "qkv/metric/evaluation.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/bind.h"
#include "python/src/text.h"
#include "qkv/base/file.h"
#include "qkv/metric/evaluation_table.h"
#include "qkv/picture/evaluation_attention.h"
#include "qkv/picture/evaluation_page.h"

namespace qkv::python {
namespace {

// The options: tokenizer, lowercase, word_order, confidence, paired, resamples (0: the default of the test), seed.
EvaluateOptions evaluate_options(nb::handle tokenizer, bool lowercase, int word_order, bool confidence,
                                 nb::handle paired, int64_t resamples, uint32_t seed) {
  EvaluateOptions options{
      .bleu = {.tokenizer =
                   value_named<BleuTokenizer>(string_of(tokenizer, "evaluate: tokenizer"), "evaluate", "tokenizer"),
               .lowercase = lowercase},
      .chrf = {.word_order = word_order, .lowercase = lowercase},
      .confidence = confidence,
      .paired = value_named<PairedTest>(string_of(paired, "evaluate: paired"), "evaluate", "paired")};
  options.bootstrap.seed = options.randomization.seed = seed;
  if (resamples != 0) options.bootstrap.samples = options.randomization.trials = resamples;
  return options;
}

// (name, [(name, signature, details, score, (mean, half width) or None, p-value or None), ...], exact matches, sentences)
nb::tuple fields_of(const SystemResult& result) {
  nb::list metrics;
  for (const MetricResult& m : result.metrics)
    metrics.append(nb::make_tuple(
        m.name, m.signature, m.details, m.score,
        m.confidence ? nb::object(nb::make_tuple(m.confidence->mean, m.confidence->half_width)) : nb::none(),
        m.p_value ? nb::object(nb::float_(*m.p_value)) : nb::none()));
  return nb::make_tuple(text_of(result.name), metrics, result.exact_matches, result.sentences);
}

nb::list fields_of(const std::vector<SystemResult>& results) {
  nb::list out;
  for (const SystemResult& result : results) out.append(fields_of(result));
  return out;
}

// An evaluation and its results, which take long to compute.
struct Evaluated {
  Evaluation evaluation;
  std::vector<SystemResult> results;
};

void evaluate(Evaluated* made, nb::handle systems, nb::handle references, const EvaluateOptions& options) {
  std::vector<SystemOutput> outputs;
  for (const nb::handle system : systems) {
    const auto pair = nb::borrow<nb::tuple>(system);
    outputs.push_back(
        {string_of(pair[0], "evaluate: the name of a system"), strings_of(pair[1], "evaluate: systems")});
  }
  std::vector<std::vector<std::string>> streams;
  for (const nb::handle lines : references) streams.push_back(strings_of(lines, "evaluate: references"));
  const nb::gil_scoped_release unlocked;
  Evaluation evaluation(std::move(outputs), std::move(streams), options);
  std::vector<SystemResult> results = evaluation.results();
  new (made) Evaluated{std::move(evaluation), std::move(results)};
}

std::string page(const Evaluated& e, nb::handle title, nb::handle sources, const Translator* translator,
                 size_t system, int64_t sentences) {
  EvaluationPageOptions options{.title = string_of(title, "page: title"),
                                .sources = strings_of(sources, "page: sources")};
  const nb::gil_scoped_release unlocked;
  if (translator) {
    options.attention_of = e.evaluation.systems().at(system).name;
    options.attention =
        attention_of_worst(*translator, e.evaluation, options.sources, {.system = system, .sentences = sentences});
  }
  return evaluation_page(e.evaluation, options);
}

nb::list by_length(const Evaluated& e, nb::handle texts) {
  nb::list out;
  for (const LengthBucket& b : e.evaluation.by_length(strings_of(texts, "by_length")))
    out.append(nb::make_tuple(b.label(), b.first, b.below, fields_of(b.results)));
  return out;
}

nb::list sentence_scores(const Evaluated& e, size_t system) {
  nb::list out;
  for (const SentenceScores& s : e.evaluation.sentence_scores(system))
    out.append(nb::make_tuple(s.bleu, s.chrf, s.ter));
  return out;
}

}  // namespace

void bind_evaluation(nb::module_& m) {
  const nb::arg one = nb::arg();
  nb::class_<Evaluated>(m, "Evaluation")
      .def("__init__",
           [](Evaluated* made, nb::handle systems, nb::handle references, nb::handle tokenizer, bool lowercase,
              int word_order, bool confidence, nb::handle paired, int64_t resamples, uint32_t seed) {
             evaluate(made, systems, references,
                      evaluate_options(tokenizer, lowercase, word_order, confidence, paired, resamples, seed));
           })
      .def("results", [](const Evaluated& e) { return fields_of(e.results); })
      .def("by_length", &by_length)
      .def("sentence_scores", &sentence_scores)
      .def("table", [](const Evaluated& e) { return text_of(results_table(e.results)); })
      .def("length_table",
           [](const Evaluated& e, nb::handle texts, const std::string& measured) {
             return text_of(length_table(e.evaluation.by_length(strings_of(texts, "by_length")), measured));
           })
      .def(
          "page",
          [](const Evaluated& e, nb::handle title, nb::handle sources, const Translator* translator, size_t system,
             int64_t sentences) { return text_of(page(e, title, sources, translator, system, sentences)); },
          one, one, nb::arg().none(), one, one)
      .def(
          "save",
          [](const Evaluated& e, const std::filesystem::path& path, nb::handle title, nb::handle sources,
             const Translator* translator, size_t system,
             int64_t sentences) { write_file(path, page(e, title, sources, translator, system, sentences)); },
          one, one, one, nb::arg().none(), one, one);
}

}  // namespace qkv::python
