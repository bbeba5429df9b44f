// Thousands of damaged copies of a small model: `qkv translate` must give the translations of the whole model, or
// others, or refuse with exit code 1 and a message that names a file. It must not crash, take more than 10 seconds
// or ask for more than 2 GB.
//
//     build/fuzz/mutated_models 20000              # cases 0 to 19999 of seed 1; exit code 1 if any is a finding
//     build/fuzz/mutated_models 2000 7             # of seed 7
//     build/fuzz/mutated_models 1 7 1234           # case 1234 of seed 7 alone; the folder is kept
//
// In half of the cases the checksums are removed first, so that damage reaches what reads the files behind them.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <unistd.h>

#include <fmt/format.h>

#include "fuzz/mutated_models/child.h"
#include "fuzz/mutated_models/damage.h"
#include "qkv/model/model_file.h"
#include "qkv/text/tokenizer.h"

namespace {

using namespace qkv;
using namespace qkv::fuzz;
namespace fs = std::filesystem;

const std::string lines = "The cat sees a small house.\nWhere is the old dog?\n";

void make_model(const fs::path& folder) {
  std::vector<std::string> sentences;
  for (const char* who : {"The cat", "A dog", "My old friend"})
    for (const char* does : {"sees", "buys", "has"})
      for (const char* what : {"a small house.", "the green tree.", "nothing at all."})
        sentences.push_back(fmt::format("{} {} {}", who, does, what));
  const Tokenizer source = Tokenizer::train(sentences, {.vocabulary_size = 60});
  const Tokenizer target =
      Tokenizer::train(sentences, {.type = TokenizerType::bpe, .vocabulary_size = 320, .lossless = true});
  TransformerConfig config;
  config.source_vocabulary = source.size();
  config.target_vocabulary = target.size();
  config.tie = Tie::target;
  config.d_model = 16;
  config.heads = 2;
  config.ffn = 32;
  config.encoder_layers = config.decoder_layers = 1;
  config.max_positions = 64;
  config.self_attention = SlidingWindow{8} + Softcap{20};
  Transformer model(config, 1);
  save_model(folder, model, {{"source.model", source.checksum()}, {"target.model", target.checksum()}});
  source.save(folder / "source.model");
  target.save(folder / "target.model");
}

Outcome translate(const fs::path& folder) {
  return run_program({QKV_COMMAND, "translate", "--model", folder.string()}, lines);
}

// What became of a case; findings begin with "FINDING".
std::string verdict(const Outcome& outcome, const Outcome& whole, const std::string& folder) {
  switch (outcome.end) {
    case Outcome::End::crashed: return fmt::format("FINDING: crash, signal {}", outcome.code);
    case Outcome::End::too_slow: return "FINDING: more than 10 seconds";
    case Outcome::End::exited: break;
  }
  if (outcome.errors.find("out of memory") != std::string::npos) return "FINDING: more than 2 GB";
  if (outcome.code == 0)
    return outcome.output == whole.output ? "accepted, same answer" : "accepted, another answer";
  if (outcome.code != 1) return fmt::format("FINDING: exit code {}", outcome.code);
  // Huge weights are numbers too; what they come to is known when a sentence is computed.
  if (outcome.errors.find("logits of +infinity or NaN") != std::string::npos)
    return "refused, the numbers overflow";
  const bool names_file = outcome.errors.find(folder) != std::string::npos;
  const bool is_line = std::count(outcome.errors.begin(), outcome.errors.end(), '\n') == 1;
  return names_file && is_line ? "refused, naming a file" : "FINDING: refused without naming a file";
}

int run(uint64_t count, uint64_t seed, std::optional<uint64_t> only) {
  const fs::path place = fs::temp_directory_path() / fmt::format("qkv-mutated-{}", ::getpid());
  const fs::path damaged = place / "damaged";
  make_model(place / "whole");
  const Folder whole = read_folder(place / "whole");
  const Outcome right = translate(place / "whole");
  require(right.end == Outcome::End::exited && right.code == 0 && !right.output.empty(), "mutated_models",
          "the whole model does not translate: {}", right.errors);
  std::map<std::string, uint64_t> verdicts;
  double slowest = 0;
  for (uint64_t n = only.value_or(0); n < only.value_or(0) + count; ++n) {
    Random random(seed, n);
    Folder folder = whole;
    const bool checked = random.below(2) == 0;
    if (!checked) remove_checksums(folder);
    const std::string what = damage(folder, random);
    write_folder(folder, damaged);
    const Outcome outcome = translate(damaged);
    std::string found = verdict(outcome, right, damaged.string());
    if (checked && found == "accepted, another answer") found = "FINDING: damage that the checksums did not show";
    ++verdicts[found + (checked ? "" : ", without checksums")];
    slowest = std::max(slowest, outcome.seconds);
    if (only || found.starts_with("FINDING"))
      fmt::print("case {}: {}: {}\n{}", n, found, what, outcome.errors.substr(0, 1000));
    std::fflush(stdout);
  }
  if (only) {
    fmt::print("the damaged model is in {}\n", damaged.string());
  } else {
    fs::remove_all(place);
  }
  bool found = false;
  for (const auto& [verdict, times] : verdicts) {
    fmt::print("{:8}  {}\n", times, verdict);
    found |= verdict.starts_with("FINDING");
  }
  fmt::print("{} damaged models of seed {}, the slowest took {:.2f} s\n", count, seed, slowest);
  return found ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto argument = [&](int i, uint64_t by_default) { return argc > i ? std::stoull(argv[i]) : by_default; };
    return run(argument(1, 1000), argument(2, 1), argc > 3 ? std::optional(argument(3, 0)) : std::nullopt);
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\nmutated_models COUNT [SEED [FIRST]]\n", e.what());
    return 2;
  }
}
