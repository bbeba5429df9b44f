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

// Compressed and in base64: about this of a trained model and many weights, which have 8 bits; up to two where few have 16.
constexpr double bytes_per_weight = 0.5;
constexpr int64_t max_misses = 3;  // pages that were computed and did not fit

std::vector<size_t> worst_first(const Evaluation& evaluation, size_t system) {
  const std::vector<SentenceScores> scores = evaluation.sentence_scores(system);
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a].chrf < scores[b].chrf; });
  return order;
}

// Computing the weights of a sentence takes memory in proportion to their number, so it is estimated before. The page
// itself is measured.
double weight_bytes(const Translator& translator, const std::string& source, const std::string& target) {
  const ModelConfig& config = translator.model().config();
  const int64_t heads = config.is_recurrent() ? 1 : config.transformer().decoder_block().heads;
  const auto rows = std::ssize(translator.target().encode(target)) + 1;
  const auto columns = std::ssize(translator.source().encode(source)) + 1;
  return static_cast<double>(rows * columns * heads * translator.model().cross_attention_layers()) *
         bytes_per_weight;
}

Picture cross_attention(const Inspection& inspection, const std::string& source) {
  std::vector<AttentionGroup> groups;
  for (const AttentionMaps& maps : inspection.attention)
    if (maps.use == AttentionUse::cross)
      groups.push_back({.title = maps.title,
                        .layers = maps.layers,
                        .rows = maps.rows,
                        .columns = maps.columns,
                        .caption = maps.caption});
  return attention_picture(
      groups, {.title = "Attention weights", .metadata = {{"source", source}, {"translation", inspection.text}}});
}

// None for a blank source, a text that the vocabulary cannot express, and more weights than fit by the estimate.
std::optional<std::string> page_within(const Translator& translator, const std::string& source,
                                       const std::string& target, int64_t max_bytes) {
  if (source.find_first_not_of(" \t") == std::string::npos) return {};
  try {
    if (weight_bytes(translator, source, target) > static_cast<double>(max_bytes)) return {};
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
  int64_t left = options.max_bytes, misses = 0;
  for (const size_t i : worst_first(evaluation, options.system)) {
    if (std::ssize(pages) >= options.sentences || misses == max_misses) break;
    const std::string &source = sources[i], &target = evaluation.systems()[options.system].lines[i];
    std::optional<std::string> page = page_within(translator, source, target, left);
    if (!page) continue;
    if (std::ssize(*page) > left) {
      ++misses;
      continue;
    }
    left -= std::ssize(*page);
    pages.push_back({i, std::move(*page)});
  }
  return pages;
}

}  // namespace qkv
