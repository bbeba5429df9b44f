#include "qkv/picture/evaluation_attention.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "qkv/base/error.h"
#include "qkv/picture/heatmap.h"
#include "qkv/pipeline/inspect.h"

namespace qkv {
namespace {

constexpr int64_t bytes_per_weight = 3;  // 16 bits in base64

std::vector<size_t> worst_first(const Evaluation& evaluation, size_t system) {
  const std::vector<SentenceScores> scores = evaluation.sentence_scores(system);
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a].chrf < scores[b].chrf; });
  return order;
}

// Computing the weights of a sentence takes memory in proportion to their number, so it is estimated before.
int64_t weight_bytes(const Translator& translator, const std::string& source, const std::string& target) {
  const TransformerConfig& config = translator.model().config();
  const auto rows = std::ssize(translator.target().encode(target)) + 1;
  const auto columns = std::ssize(translator.source().encode(source)) + 1;
  return rows * columns * config.heads * translator.model().cross_attention_layers() * bytes_per_weight;
}

Picture cross_attention(const Inspection& inspection, const std::string& source) {
  std::vector<AttentionGroup> groups;
  for (const AttentionMaps& maps : inspection.attention)
    if (maps.use == AttentionUse::cross)
      groups.push_back({.title = maps.title, .layers = maps.layers, .rows = maps.rows, .columns = maps.columns});
  return attention_picture(
      groups, {.title = "Attention weights", .metadata = {{"source", source}, {"translation", inspection.text}}});
}

// None for a blank source, a text that the vocabulary cannot express, and more weights than `max_bytes`.
std::optional<std::string> page_within(const Translator& translator, const std::string& source,
                                       const std::string& target, int64_t max_bytes) {
  if (source.find_first_not_of(" \t") == std::string::npos) return {};
  try {
    if (weight_bytes(translator, source, target) > max_bytes) return {};
    return cross_attention(inspect(translator, source, {.translate = {}, .target = target}), source).html();
  } catch (const InputError&) {
    return {};
  }
}

}  // namespace

std::vector<SentencePage> attention_of_worst(const Translator& translator, const Evaluation& evaluation,
                                             std::span<const std::string> sources,
                                             const AttentionOfWorstOptions& options) {
  require<InputError>(sources.size() == evaluation.sentences(), "evaluation", "{} sources, but {} sentences",
                      sources.size(), evaluation.sentences());
  std::vector<SentencePage> pages;
  int64_t left = options.max_bytes;
  for (const size_t i : worst_first(evaluation, options.system)) {
    if (std::ssize(pages) >= options.sentences || left <= 0) break;
    const std::string &source = sources[i], &target = evaluation.systems()[options.system].lines[i];
    if (std::optional<std::string> page = page_within(translator, source, target, left)) {
      left -= std::ssize(*page);
      pages.push_back({i, std::move(*page)});
    }
  }
  return pages;
}

}  // namespace qkv
