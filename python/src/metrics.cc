#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/bind.h"
#include "python/src/text.h"
#include "qkv/base/error.h"
#include "qkv/metric/bleu.h"
#include "qkv/metric/bootstrap.h"
#include "qkv/metric/chrf.h"
#include "qkv/metric/ter.h"

namespace qkv::python {
namespace {

using Texts = std::vector<std::string>;
using Streams = std::vector<Texts>;

BleuOptions bleu_options(nb::handle tokenizer, bool lowercase, nb::handle smoothing, std::optional<double> value,
                         int max_order, bool effective_order) {
  const std::string name = string_of(smoothing, "bleu: smoothing");
  BleuSmoothing method = BleuSmoothing::exponential;
  if (name == "none")
    method = BleuSmoothing::none;
  else if (name == "floor")
    method = BleuSmoothing::floor;
  else if (name == "add-k")
    method = BleuSmoothing::add_k;
  else
    require(name == "exp", "bleu", "smoothing must be exp, floor, add-k or none, got {}", quoted_name(name));
  return {.tokenizer = value_named<BleuTokenizer>(string_of(tokenizer, "bleu: tokenizer"), "bleu", "tokenizer"),
          .lowercase = lowercase,
          .smoothing = method,
          .smoothing_value = value,
          .max_order = max_order,
          .effective_order = effective_order};
}

Streams streams_of(nb::handle streams, const char* name) {
  Streams out;
  for (const nb::handle lines : streams) out.push_back(strings_of(lines, name));
  return out;
}

// (mean, half width of the 95% interval), or None without samples.
nb::object interval_of(const std::optional<Confidence>& c) {
  return c ? nb::object(nb::make_tuple(c->mean, c->half_width)) : nb::none();
}

int count(const Streams& references) { return static_cast<int>(references.size()); }

// Scores of a corpus, and of a corpus of one line.
nb::tuple bleu_fields(nb::handle hypotheses, nb::handle references, bool sentence, nb::handle tokenizer,
                      bool lowercase, nb::handle smoothing, std::optional<double> value, int max_order,
                      bool effective_order, int64_t samples, uint32_t seed) {
  const BleuOptions options = bleu_options(tokenizer, lowercase, smoothing, value, max_order, effective_order);
  const Streams streams = streams_of(references, "bleu: references");
  const Texts lines = strings_of(hypotheses, "bleu: hypotheses");
  BleuScore s;
  std::optional<Confidence> interval;
  {
    const nb::gil_scoped_release unlocked;
    s = sentence ? sentence_bleu(lines.at(0), streams.at(0), options) : bleu(lines, streams, options);
    if (samples > 0) {
      const auto score_of = [&](std::span<const double> sums) { return bleu_of(sums, options).score; };
      interval = bootstrap(bleu_statistics(lines, streams, options), score_of, {samples, seed});
    }
  }
  const int references_per_line = sentence ? static_cast<int>(streams[0].size()) : count(streams);
  return nb::make_tuple(s.score, nb::cast(s.precisions), s.brevity_penalty, s.hypothesis_length, s.reference_length,
                        s.to_string(), signature(options, references_per_line), interval_of(interval));
}

nb::tuple chrf_fields(nb::handle hypotheses, nb::handle references, bool sentence, int character_order,
                      int word_order, double beta, bool lowercase, bool whitespace, bool eps_smoothing,
                      int64_t samples, uint32_t seed) {
  const ChrfOptions options{.character_order = character_order,
                            .word_order = word_order,
                            .beta = beta,
                            .lowercase = lowercase,
                            .whitespace = whitespace,
                            .eps_smoothing = eps_smoothing};
  const Streams streams = streams_of(references, "chrf: references");
  const Texts lines = strings_of(hypotheses, "chrf: hypotheses");
  ChrfScore s;
  std::optional<Confidence> interval;
  {
    const nb::gil_scoped_release unlocked;
    s = sentence ? sentence_chrf(lines.at(0), streams.at(0), options) : chrf(lines, streams, options);
    if (samples > 0) {
      const auto score_of = [&](std::span<const double> sums) { return chrf_of(sums, options).score; };
      interval = bootstrap(chrf_statistics(lines, streams, options), score_of, {samples, seed});
    }
  }
  const int references_per_line = sentence ? static_cast<int>(streams[0].size()) : count(streams);
  return nb::make_tuple(s.score, s.to_string(), signature(options, references_per_line), interval_of(interval));
}

nb::tuple ter_fields(nb::handle hypotheses, nb::handle references, bool sentence, bool case_sensitive,
                     bool normalized, bool no_punctuation, int64_t samples, uint32_t seed) {
  const TerOptions options{
      .case_sensitive = case_sensitive, .normalized = normalized, .no_punctuation = no_punctuation};
  const Streams streams = streams_of(references, "ter: references");
  const Texts lines = strings_of(hypotheses, "ter: hypotheses");
  TerScore s;
  std::optional<Confidence> interval;
  {
    const nb::gil_scoped_release unlocked;
    s = sentence ? sentence_ter(lines.at(0), streams.at(0), options) : ter(lines, streams, options);
    if (samples > 0) {
      const auto score_of = [&](std::span<const double> sums) { return ter_of(sums).score; };
      interval = bootstrap(ter_statistics(lines, streams, options), score_of, {samples, seed});
    }
  }
  const int references_per_line = sentence ? static_cast<int>(streams[0].size()) : count(streams);
  return nb::make_tuple(s.score, s.edits, s.reference_length, s.to_string(),
                        signature(options, references_per_line), interval_of(interval));
}

}  // namespace

void bind_metrics(nb::module_& m) {
  const nb::arg one = nb::arg();
  const auto maybe = nb::arg().none();
  m.def("bleu", &bleu_fields, one, one, one, one, one, one, maybe, one, one, one, one);
  m.def("chrf", &chrf_fields);
  m.def("ter", &ter_fields);
  m.def("tokenize", [](nb::handle line, nb::handle tokenizer) {
    const auto kind = value_named<BleuTokenizer>(string_of(tokenizer, "tokenize"), "tokenize", "tokenizer");
    return text_of(tokenize(string_of(line, "tokenize: line"), kind));
  });
}

}  // namespace qkv::python
