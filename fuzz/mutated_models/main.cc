// Thousands of damaged copies of small models of every format (test/damaged_folders): the command must use each as it is, or
// refuse it with exit code 1 and a message that names a file. It must not crash, take more than 10 seconds, ask for more than
// 4 GB or answer the same question in two ways, and no message may be that of a library.
//
//     build/fuzz/mutated_models 20000              # cases 0 to 19999 of seed 1; exit code 1 if any is a finding
//     build/fuzz/mutated_models 2000 7             # of seed 7
//     build/fuzz/mutated_models 1 7 1234           # case 1234 of seed 7 alone; the folder is kept
//
// Prints how often there was which outcome, and keeps the folder of each finding in build/findings/mutated_models. In half
// of the cases the checksums of our models are removed first, so that damage reaches what reads the files behind them.
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "fuzz/mutated_models/child.h"
#include "fuzz/mutated_models/use.h"
#include "fuzz/mutated_models/verdict.h"
#include "qkv/base/checksum.h"
#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/published/huggingface/sentence_encoder.h"
#include "qkv/published/load_model.h"
#include "qkv/test_support/scratch_folder.h"
#include "test/damaged_folders/damage.h"
#include "test/damaged_folders/model_folders.h"

namespace {

using namespace qkv;
using namespace qkv::fuzz;
namespace fs = std::filesystem;

struct WholeUse {
  Use use;
  Outcome outcome;
};

// The files that a command wrote are part of its answer.
Outcome run_use(const Use& use, const fs::path& model, const fs::path& output) {
  fs::remove_all(output);
  Outcome outcome = run_program(use.arguments(model.string(), output.string()), use.input);
  if (use.writes_folder && fs::exists(output))
    for (const auto& [name, bytes] : test::read_folder(output))
      outcome.output += fmt::format("{} {:08x}\n", name, crc32(bytes));
  return outcome;
}

// The models of a format are as likely as those of any other, but those of Hugging Face, who has most families, are half of
// all.
class Models {
 public:
  explicit Models(const fs::path& scratch) : scratch_(scratch) {
    for (test::ModelFolder& model : test::model_folders()) by_format_[model.format].push_back(std::move(model));
  }

  const test::ModelFolder& draw(Random& random) const {
    auto format = by_format_.find("huggingface");
    if (random.below(2) == 0)
      format = std::next(by_format_.begin(), static_cast<int64_t>(random.below(by_format_.size())));
    return format->second[random.below(format->second.size())];
  }

  // What the whole model can be used for.
  const std::vector<WholeUse>& uses_of(const test::ModelFolder& model) {
    std::vector<WholeUse>& uses = uses_[model.name];
    if (!uses.empty()) return uses;
    const fs::path folder = scratch_ / "whole", output = scratch_ / "written";
    test::write_folder(model.files, folder);
    for (const Use& use : fuzz::uses_of(load_config(encoder_folder(folder)).architecture())) {
      Outcome outcome = run_use(use, folder, output);
      const bool works = outcome.end == Outcome::End::exited && outcome.code == 0;
      if (works) uses.push_back({use, std::move(outcome)});
    }
    require(!uses.empty(), "mutated_models", "the whole model {} is of no use", model.name);
    return uses;
  }

 private:
  fs::path scratch_;
  std::map<std::string, std::vector<test::ModelFolder>> by_format_;
  std::map<std::string, std::vector<WholeUse>> uses_;
};

// Whether the files still say what their checksums are. Where they do not, they are taken as another program's.
bool has_checksums(const test::Folder& files, const test::Folder& whole) {
  for (const auto& [name, keys] :
       {std::pair("config.json", std::vector{"\"checksum\""}),
        std::pair("model.safetensors", std::vector{"\"qkv.checksum\"", "\"source.model\"", "\"target.model\"",
                                                   "\"tokenizer.model\""})}) {
    const auto file = files.find(name), original = whole.find(name);
    if (file == files.end() || original == whole.end()) continue;
    for (const char* key : keys)
      if (original->second.find(key) != std::string::npos && file->second.find(key) == std::string::npos)
        return false;
  }
  return true;
}

struct Case {
  std::string model, format, damage;
  Use use;
  Outcome outcome;
  Verdict verdict;

  std::string text() const {
    std::string command = "qkv";
    for (const std::string& argument : use.command) command += " " + argument;
    return fmt::format("{}: {}: {}: {}\n{}", verdict.text, model, command, damage, outcome.errors.substr(0, 1000));
  }
};

Case run_case(Models& models, Random random, const fs::path& scratch) {
  const fs::path damaged = scratch / "damaged", output = scratch / "written";
  const test::ModelFolder& model = models.draw(random);
  const std::vector<WholeUse>& uses = models.uses_of(model);
  const WholeUse& whole = uses[random.below(uses.size())];
  test::Folder files = model.files;
  const bool keeps_checksums = random.below(2) == 0;
  if (!keeps_checksums) test::remove_checksums(files);
  Case result{.model = model.name,
              .format = model.format,
              .damage = test::damage(files, random),
              .use = whole.use,
              .outcome = {},
              .verdict = {}};
  test::write_folder(files, damaged);
  result.outcome = run_use(whole.use, damaged, output);
  const bool checked = model.format == "qkv" && keeps_checksums && has_checksums(files, model.files);
  result.verdict = judge(result.outcome, whole.outcome,
                         {.folder = damaged.string(),
                          .answers_lines = whole.use.answers_lines,
                          .gives_numbers = whole.use.gives_numbers,
                          .checked = checked});
  // Memory that nothing was written to is seldom the same twice.
  const bool is_new = result.outcome.code == 0 && result.outcome.output != whole.outcome.output;
  if (is_new && !result.verdict.finding && run_use(whole.use, damaged, output).output != result.outcome.output)
    result.verdict = {.text = "FINDING: two answers to the same question", .finding = true};
  return result;
}

// The folder, and beside it how it was used.
fs::path keep(const Case& of, const fs::path& damaged, const std::string& name) {
  const fs::path kept = fs::path(QKV_FINDINGS) / name;
  fs::remove_all(kept);
  fs::create_directories(kept);
  fs::copy(damaged, kept / "model", fs::copy_options::recursive);
  write_file(kept / "finding.txt", of.text());
  return kept;
}

using Counts = std::map<std::string, std::map<std::string, uint64_t>>;  // by verdict and format

void print_counts(const Counts& counts) {
  constexpr const char* formats[] = {"qkv", "huggingface", "ctranslate2", "marian", "llama2c", "mingpt"};
  for (const char* format : formats) fmt::print("{:>12}", format);
  fmt::print("{:>12}\n", "all");
  for (const auto& [verdict, of_format] : counts) {
    uint64_t all = 0;
    for (const char* format : formats) {
      const auto found = of_format.find(format);
      const uint64_t count = found == of_format.end() ? 0 : found->second;
      fmt::print("{:>12}", count);
      all += count;
    }
    fmt::print("{:>12}  {}\n", all, verdict);
  }
}

int run(uint64_t count, uint64_t seed, std::optional<uint64_t> only) {
  const test::ScratchFolder scratch;
  Models models(scratch.path());
  Counts counts;
  double slowest = 0;
  bool found = false;
  for (uint64_t n = only.value_or(0); n < only.value_or(0) + count; ++n) {
    const Case result = run_case(models, Random(seed, n), scratch.path());
    ++counts[result.verdict.text][result.format];
    if (n % 1000 == 999) fmt::print(stderr, "{} cases\n", n + 1);
    slowest = std::max(slowest, result.outcome.seconds);
    found |= result.verdict.finding;
    if (!only && !result.verdict.finding) continue;
    const fs::path kept = keep(result, scratch.path() / "damaged", fmt::format("{}-{}", seed, n));
    fmt::print("case {}: {}the folder is {}\n", n, result.text(), kept.string());
    std::fflush(stdout);
  }
  print_counts(counts);
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
