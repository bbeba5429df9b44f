#include "qkv/pipeline/generator.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/bind.h"
#include "python/src/inspection.h"
#include "python/src/settings.h"
#include "python/src/text.h"
#include "qkv/base/json.h"
#include "qkv/decode/option_table.h"
#include "qkv/interpret/repeated_tokens.h"
#include "qkv/model/describe.h"
#include "qkv/model/model_file.h"
#include "qkv/pipeline/generation_config.h"

namespace qkv::python {
namespace {

nb::tuple tuple_of(const GeneratedText& a) {
  return nb::make_tuple(text_of(a.text), texts_of(a.tokens), a.log_probability, a.score, text_of(name_of(a.end)),
                        a.speculated.proposed, a.speculated.accepted);
}

// The defaults of the model, as far as what is given does not exclude them, and over them what is given.
GenerateTextOptions options_of(const Generator& generator, const nb::dict& given, const char* where) {
  const ReadSettings read(where, given);
  GenerateTextOptions options;
  read.into(options);
  options = defaults_for(options, read.names(), generator.defaults());
  read.into(options);
  return options;
}

// A tuple for every prompt: ([an answer, ...], whether it was cut).
nb::list generate(const Generator& generator, nb::list prompts, const nb::dict& given) {
  const GenerateTextOptions options = options_of(generator, given, "Generator.generate");
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

// {"messages": [...], "tools": ..., ...}, as Python writes it.
TextGeneration stream_chat(const Generator& generator, const std::string& conversation, const nb::dict& given,
                           const char* where) {
  constexpr JsonLimits limits = {.bytes = 64 << 20, .depth = 100, .name_bytes = 20'000};
  const GenerateTextOptions options = options_of(generator, given, where);
  const nb::gil_scoped_release unlocked;
  const Json json = parse_json_object(conversation, where, limits);
  ChatOptions how{.prompt = {.add_generation_prompt = json["add_generation_prompt"].get<bool>(),
                             .tools = json["tools"],
                             .documents = json["documents"],
                             .variables = json["variables"]},
                  .trusts_messages = json["trust_messages"].get<bool>()};
  if (const Json& text = json["chat_template"]; !text.is_null()) how.chat_template.text = text.text();
  return generator.stream_chat(json["messages"], options, how);
}

nb::tuple chat(const Generator& generator, const std::string& conversation, const nb::dict& given) {
  TextGeneration text = stream_chat(generator, conversation, given, "Generator.chat");
  {
    const nb::gil_scoped_release unlocked;
    while (text.next()) check_signals();
  }
  return tuple_of(text.result());
}

// A tuple for every text: (log-probability, log-probabilities of the tokens, tokens).
nb::list score_texts(const Generator& generator, nb::list texts, const nb::dict& given) {
  ScoreTextOptions options;
  ReadSettings("Generator.score", given).into(options);
  const std::vector<std::string> lines = strings_of(texts, "score");
  std::vector<TextScore> scores;
  {
    const nb::gil_scoped_release unlocked;
    scores = generator.score(lines, options, [](int64_t) { check_signals(); });
  }
  nb::list out;
  for (const TextScore& s : scores)
    out.append(nb::make_tuple(s.log_probability, nb::cast(s.token_log_probabilities), texts_of(s.tokens)));
  return out;
}

nb::tuple inspect_text(const Generator& generator, nb::handle text, nb::list ablate) {
  const std::string line = string_of(text, "inspect");
  const HeadAblation without(heads_of(ablate, generator.model().config(), "inspect: ablate"));
  Inspection seen;
  {
    const nb::gil_scoped_release unlocked;
    seen = inspect(generator, line);
  }
  return inspection_tuple(seen);
}

nb::tuple inspect_repeated(const Generator& generator, int64_t length, uint64_t seed) {
  AttentionMaps maps;
  {
    const nb::gil_scoped_release unlocked;
    maps = repeated_tokens(generator, {.length = length, .seed = seed});
  }
  return maps_tuple(maps);
}

nb::tuple ablate_texts(const Generator& generator, nb::list heads, nb::list texts) {
  const std::vector<NamedHeads> groups = groups_of(heads, generator.model().config(), "ablate: heads");
  const std::vector<std::string> lines = strings_of(texts, "ablate: texts");
  Ablation found;
  {
    const nb::gil_scoped_release unlocked;
    found = ablate(generator, lines, groups, {}, [](int64_t) { check_signals(); });
  }
  return ablation_tuple(found);
}

}  // namespace

void bind_generator(nb::module_& m) {
  using namespace nb::literals;
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
          [](Generator* g, const std::filesystem::path& folder, const std::optional<std::string>& weights, bool map,
             const std::string& precision, const std::string& cache) {
            const InferenceOptions options = inference_options(weights, map, precision, "Generator", cache);
            const nb::gil_scoped_release unlocked;
            new (g) Generator(folder, options);
          },
          "folder"_a, "weights"_a.none(), "map"_a, "precision"_a, "cache"_a)
      .def("generate", &generate)
      .def("stream",
           [](const Generator& g, nb::handle prompt, const nb::dict& given) {
             return g.stream(string_of(prompt, "stream"), options_of(g, given, "Generator.stream"));
           })
      .def("chat", &chat)
      .def("stream_chat",
           [](const Generator& g, const std::string& conversation, const nb::dict& given) {
             return stream_chat(g, conversation, given, "Generator.stream_chat");
           })
      .def("set_draft", &Generator::set_draft)
      .def("score", &score_texts)
      .def("inspect", &inspect_text, "text"_a, "ablate"_a)
      .def("repeated_tokens", &inspect_repeated)
      .def("ablate", &ablate_texts)
      .def("config", [](const Generator& g) { return to_json(g.model().config()); })
      .def("describe",
           [](const Generator& g) { return describe(g.model().config(), {.weights = held_weights(g.model())}); });
}

}  // namespace qkv::python
