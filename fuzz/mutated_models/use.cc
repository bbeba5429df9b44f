#include "fuzz/mutated_models/use.h"

namespace qkv::fuzz {
namespace {

// The last line is what the vocabulary of minGPT can say.
const std::string lines = "The cat sees a small house.\nWhere is the old dog?\n0 1 2\n";
const std::string masked_lines = "The [MASK] sees a small house.\nWhere is the old dog?\n";
const std::string pairs = "The cat sees a small house.\tA dog has the green tree.\nWhere?\tNothing.\n";

std::vector<Use> special_uses_of(Architecture architecture) {
  switch (architecture) {
    case Architecture::causal:
      return {{.command = {"generate", "--max-tokens", "5", "--temperature", "0"}, .input = lines},
              {.command = {"generate", "--max-tokens", "5", "--seed", "1"}, .input = lines},
              {.command = {"generate", "--max-tokens", "5", "--beam", "2"}, .input = lines},
              {.command = {"perplexity"}, .input = lines, .gives_numbers = true}};
    case Architecture::masked:
      return {{.command = {"fill-mask"}, .input = masked_lines},
              {.command = {"fill-mask", "--n-best", "1"}, .input = masked_lines}};
    default:
      return {{.command = {"translate"}, .input = lines},
              {.command = {"translate", "--beam", "1"}, .input = lines},
              {.command = {"score", "--input", "-"}, .input = pairs, .gives_numbers = true}};
  }
}

}  // namespace

std::vector<std::string> Use::arguments(const std::string& model, const std::string& output) const {
  std::vector<std::string> all = {QKV_COMMAND};
  all.insert(all.end(), command.begin(), command.end());
  all.insert(all.end(), {"--model", model});
  if (writes_folder) all.insert(all.end(), {"--output", output});
  if (answers_lines) all.insert(all.end(), {"--threads", "1"});
  return all;
}

std::vector<Use> uses_of(Architecture architecture) {
  std::vector<Use> uses = special_uses_of(architecture);
  uses.push_back({.command = {"embed"}, .input = lines, .gives_numbers = true});
  uses.push_back({.command = {"describe"}, .input = "", .answers_lines = false});
  uses.push_back({.command = {"convert"}, .input = "", .answers_lines = false, .writes_folder = true});
  return uses;
}

}  // namespace qkv::fuzz
