#include "qkv/train/validation_record.h"

#include <fmt/format.h>

#include "qkv/base/names.h"

namespace qkv {

std::string describe(const Validation& v) {
  std::string text = fmt::format("loss {:.4f}, perplexity {:.2f}", v.loss, v.perplexity());
  if (v.bleu) text += fmt::format(", BLEU {:.2f}", *v.bleu);
  if (v.accuracy) text += fmt::format(", accuracy {:.1f}%", 100 * *v.accuracy);
  return text;
}

void add_validation(const Validation& v, Json& line) {
  line["valid_loss"] = v.loss;
  line["valid_perplexity"] = v.perplexity();
  if (v.bleu) line["valid_bleu"] = *v.bleu;
  if (v.accuracy) line["valid_accuracy"] = *v.accuracy;
}

double score_of(const Validation& v, Goal goal) { return goal == Goal::loss ? v.loss : v.bleu.value_or(0); }

std::vector<std::string> describe(const std::vector<TrainingTask::Sample>& samples) {
  std::vector<std::string> lines;
  for (const TrainingTask::Sample& s : samples)
    for (const auto& [name, text] : {std::pair("source", &s.source), std::pair("reference", &s.reference),
                                     std::pair("hypothesis", &s.hypothesis)})
      lines.push_back(fmt::format("  {:10}  {}", name, one_line(*text)));
  return lines;
}

Json json_of(const std::vector<TrainingTask::Sample>& samples) {
  Json list = Json::array();
  for (const TrainingTask::Sample& s : samples)
    list.push_back({{"source", s.source}, {"reference", s.reference}, {"hypothesis", s.hypothesis}});
  return list;
}

}  // namespace qkv
