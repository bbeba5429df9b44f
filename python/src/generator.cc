#include "qkv/pipeline/generator.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/bind.h"
#include "python/src/inspection.h"
#include "python/src/text.h"
#include "qkv/model/describe.h"
#include "qkv/model/model_file.h"
#include "qkv/pipeline/generation_config.h"

namespace qkv::python {
namespace {

nb::tuple tuple_of(const GeneratedText& a) {
  return nb::make_tuple(text_of(a.text), texts_of(a.tokens), a.log_probability, a.score, text_of(name_of(a.end)));
}

// A tuple for every prompt: ([an answer, ...], whether it was cut).
nb::list generate(const Generator& generator, nb::list prompts, const GenerateTextOptions& options) {
  const std::vector<std::string> lines = strings_of(prompts, "generate");
  std::vector<GeneratedTexts> texts;
  {
    const nb::gil_scoped_release unlocked;
    texts = generator.generate(lines, options, [](int64_t) { check_signals(); });
  }
  nb::list out;
  for (const GeneratedTexts& t : texts) {
    nb::list answers;
    for (const GeneratedText& answer : t.answers) answers.append(tuple_of(answer));
    out.append(nb::make_tuple(answers, t.truncated));
  }
  return out;
}

// A tuple for every text: (log-probability, log-probabilities of the tokens, tokens).
nb::list score(const Generator& generator, nb::list texts, int64_t context, int64_t stride, int64_t batch_tokens,
               bool parse_special) {
  const std::vector<std::string> lines = strings_of(texts, "score");
  std::vector<TextScore> scores;
  {
    const nb::gil_scoped_release unlocked;
    scores = generator.score(
        lines, {.context = context, .stride = stride, .batch_tokens = batch_tokens, .parse_special = parse_special},
        [](int64_t) { check_signals(); });
  }
  nb::list out;
  for (const TextScore& s : scores)
    out.append(nb::make_tuple(s.log_probability, nb::cast(s.token_log_probabilities), texts_of(s.tokens)));
  return out;
}

// The defaults in a model's files, as keyword arguments of generate().
nb::dict defaults_of(const std::filesystem::path& folder) {
  const GenerateTextOptions o = generate_defaults(folder), none;
  nb::dict out;
  const auto add = [&](const char* name, const auto& value, const auto& otherwise) {
    if (value != otherwise) out[name] = value;
  };
  add("max_tokens", o.max_tokens, none.max_tokens);
  add("min_tokens", o.min_tokens, none.min_tokens);
  add("temperature", o.sampling.temperature, none.sampling.temperature);
  add("top_k", o.sampling.top_k, none.sampling.top_k);
  add("top_p", o.sampling.top_p, none.sampling.top_p);
  add("min_p", o.sampling.min_p, none.sampling.min_p);
  add("repetition_penalty", o.sampling.repetition_penalty, none.sampling.repetition_penalty);
  add("no_repeat_ngram", o.sampling.no_repeat_ngram, none.sampling.no_repeat_ngram);
  add("beam", o.beam, none.beam);
  add("length_penalty", o.length_penalty, none.length_penalty);
  if (o.length_normalization != none.length_normalization)
    out["length_normalization"] = std::string(name_of(o.length_normalization));
  return out;
}

void bind_options(nb::module_& m) {
  using namespace nb::literals;
  using Options = GenerateTextOptions;
  const Options d;
  nb::class_<Options>(m, "GenerateTextOptions")
      .def(
          "__init__",
          [](Options* o, int64_t max_tokens, int64_t min_tokens, double temperature, int64_t top_k, double top_p,
             double min_p, double repetition_penalty, int64_t no_repeat_ngram, nb::handle stop, uint64_t seed,
             int64_t answers, int64_t beam, double length_penalty, const std::string& length_normalization,
             bool parse_special, int64_t first_prompt, int64_t batch_tokens, int64_t max_input_tokens) {
            new (o) Options{.max_tokens = max_tokens,
                            .min_tokens = min_tokens,
                            .answers = answers,
                            .stop = strings_of(stop, "generate: stop"),
                            .sampling = {.temperature = temperature,
                                         .top_k = top_k,
                                         .top_p = top_p,
                                         .min_p = min_p,
                                         .repetition_penalty = repetition_penalty,
                                         .no_repeat_ngram = no_repeat_ngram,
                                         .seed = seed},
                            .parse_special = parse_special,
                            .first_prompt = first_prompt,
                            .beam = beam,
                            .length_penalty = length_penalty,
                            .length_normalization = value_named<LengthNormalization>(
                                length_normalization, "generate", "length_normalization"),
                            .batch_tokens = batch_tokens,
                            .max_input_tokens = max_input_tokens};
          },
          "max_tokens"_a = d.max_tokens, "min_tokens"_a = d.min_tokens, "temperature"_a = d.sampling.temperature,
          "top_k"_a = d.sampling.top_k, "top_p"_a = d.sampling.top_p, "min_p"_a = d.sampling.min_p,
          "repetition_penalty"_a = d.sampling.repetition_penalty, "no_repeat_ngram"_a = d.sampling.no_repeat_ngram,
          "stop"_a = nb::make_tuple(), "seed"_a = d.sampling.seed, "answers"_a = d.answers, "beam"_a = d.beam,
          "length_penalty"_a = d.length_penalty,
          "length_normalization"_a = std::string(name_of(d.length_normalization)),
          "parse_special"_a = d.parse_special, "first_prompt"_a = d.first_prompt, "batch_tokens"_a = d.batch_tokens,
          "max_input_tokens"_a = d.max_input_tokens);
}

nb::tuple inspect_text(const Generator& generator, nb::handle text) {
  const std::string line = string_of(text, "inspect");
  Inspection seen;
  {
    const nb::gil_scoped_release unlocked;
    seen = inspect(generator, line);
  }
  return inspection_tuple(seen);
}

}  // namespace

void bind_generator(nb::module_& m) {
  using namespace nb::literals;
  bind_options(m);
  m.def("generate_defaults", &defaults_of);
  nb::class_<TextGeneration>(m, "TextGeneration")
      .def("next",  // None at the end
           [](TextGeneration& t) -> nb::object {
             std::optional<std::string> piece;
             {
               const nb::gil_scoped_release unlocked;
               piece = t.next();
             }
             return piece ? nb::object(text_of(*piece)) : nb::none();
           })
      .def("result", [](const TextGeneration& t) { return tuple_of(t.result()); })
      .def("truncated", &TextGeneration::truncated);
  nb::class_<Generator>(m, "Generator")
      .def(
          "__init__",
          [](Generator* g, const std::filesystem::path& folder, const std::optional<std::string>& weights) {
            const InferenceOptions options = inference_options(weights, "Generator");
            const nb::gil_scoped_release unlocked;
            new (g) Generator(folder, options);
          },
          "folder"_a, "weights"_a.none())
      .def("generate", &generate)
      .def("stream",
           [](const Generator& g, nb::handle prompt, const GenerateTextOptions& options) {
             return g.stream(string_of(prompt, "stream"), options);
           })
      .def("score", &score, "texts"_a, "context"_a, "stride"_a, "batch_tokens"_a, "parse_special"_a)
      .def("inspect", &inspect_text, "text"_a)
      .def("config", [](const Generator& g) { return to_json(g.model().config()); })
      .def("describe",
           [](const Generator& g) { return describe(g.model().config(), {.weights = held_weights(g.model())}); });
}

}  // namespace qkv::python
