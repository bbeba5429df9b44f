#include "test/faults/scenario.h"

#include <algorithm>
#include <csignal>

#include <fmt/format.h>

#include "qkv/base/error.h"
#include "qkv/base/random.h"
#include "test/faults/command.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

// Strings of digits, and the same strings reversed.
std::string words(int64_t pairs, uint64_t seed) {
  Random random(seed);
  std::string text;
  for (int64_t i = 0; i < pairs; ++i) {
    std::string word;
    for (uint64_t n = 3 + random.below(4); n > 0; --n) word += static_cast<char>('0' + random.below(10));
    text += fmt::format("{}\t{}\n", word, std::string(word.rbegin(), word.rend()));
  }
  return text;
}

std::string first_fields(const std::string& tsv) {
  std::string text;
  for (size_t at = 0; at < tsv.size(); at = tsv.find('\n', at) + 1)
    text += tsv.substr(at, tsv.find('\t', at) - at) + "\n";
  return text;
}

const Arguments shape = {"--d-model",        "16", "--heads",          "2", "--ffn",     "16",
                         "--encoder-layers", "1",  "--decoder-layers", "1", "--dropout", "0.1"};

Arguments joined(std::initializer_list<Arguments> parts) {
  Arguments all;
  for (const Arguments& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Arguments resuming(int steps) {
  return {"train", "--resume", "--model", "model", "--quiet", "--max-steps", fmt::format("{}", steps)};
}

// The files after these commands, each of which must succeed unless it is killed.
Snapshot after(const Snapshot& before, const Arguments& command, std::optional<FaultPlan> faults = {}) {
  const WorkFolder work("prepare");
  restore(work.path(), before);
  const Outcome o = run_command(command, {.folder = work.path(), .faults = faults});
  require(o.succeeded() || o.signal == SIGKILL, "scenario", "{}: {}", command.front(), o.error);
  return take_snapshot(work.path());
}

Snapshot trained(int steps) { return after(small_corpus_files(), small_training("pairs.tsv", steps)); }

Scenario output_scenario(const std::string& name, Snapshot before, Arguments command, const std::string& output) {
  before[output] = "what was there before\n";
  command.insert(command.end(), {"--output", output, "--threads", "2"});
  return {.name = name, .before = before, .command = command, .outputs = {output}, .again = command};
}

Scenario overwrite_scenario(const std::string& name) {
  const Arguments command = joined({small_training("other.tsv", 3), {"--overwrite"}});
  return {.name = name,
          .before = trained(2),
          .command = command,
          .model = "model",
          .again = command,
          .resume = joined({small_training("other.tsv", 3), {"--resume"}})};
}

// A training with --overwrite that was killed while it replaced files.
Scenario overwrite_again(const std::string& name, double part) {
  Scenario s = overwrite_scenario(name);
  const WorkFolder work("count");
  restore(work.path(), s.before);
  const Outcome quiet = run_command(s.command, {.folder = work.path(), .faults = FaultPlan{}});
  const auto renames = static_cast<double>(quiet.calls[index_of(Call::rename)]);
  const FaultPlan kill = {.call = Call::rename, .at = static_cast<int64_t>(1 + part * renames)};
  s.before = after(s.before, s.command, kill);
  return s;
}

// A published model with a folder in its folder. The target is new: it becomes complete at once, or not at all.
Scenario convert_scenario(bool to_gguf) {
  Snapshot before = {{"notes.txt", "not written by qkv\n"}};
  for (const auto& [name, bytes] : take_snapshot(fs::path(QKV_SOURCE_DIR) / "test" / "checkpoints" / "minilm"))
    if (!name.starts_with("reference")) before["model/" + name] = bytes;
  Arguments command = {"convert", "--model", "model", "--output", "converted"};
  if (to_gguf) {
    command.insert(command.end(), {"--format", "gguf", "--weights", "q8_0"});
    return {
        .name = "convert_gguf", .before = before, .command = command, .outputs = {"converted"}, .again = command};
  }
  Scenario s = {.name = "convert", .before = before, .command = command, .again = command};
  for (const char* name : {"config.json", "model.safetensors", "tokenizer.model", "modules.json",
                           "sentence_bert_config.json", "1_Pooling/config.json"})
    s.outputs.push_back(fmt::format("converted/{}", name));
  return s;
}

Scenario demo_scenario() {
  const auto demo = [](int seed) {
    return joined(
        {{"demo", "--folder", "demo", "--steps", "1", "--threads", "2", "--seed", fmt::format("{}", seed)}, shape});
  };
  Snapshot before = after(small_corpus_files(), demo(1));
  before["demo/notes.txt"] = "not written by qkv\n";
  return {.name = "demo",
          .before = before,
          .command = demo(2),
          .outputs = {"demo/train.tsv", "demo/held-out.tsv", "demo/attention.html", "demo/attention.svg"},
          .model = "demo/model",
          .slow = true,
          .again = demo(2)};
}

}  // namespace

Snapshot small_corpus_files() {
  return {{"pairs.tsv", words(40, 1)},
          {"other.tsv", words(40, 2)},
          {"lines.txt", first_fields(words(4, 3))},
          {"notes.txt", "not written by qkv\n"},
          {"model/README.txt", "not written by qkv either\n"},
          {"model/training/notes.tsv", "nor\tthis\n"}};
}

Arguments with_flags(Arguments command, const Arguments& flags) {
  for (size_t i = 0; i < flags.size(); i += 2) {
    const auto had = std::find(command.begin(), command.end(), flags[i]);
    if (had != command.end()) command.erase(had, had + 2);
    command.insert(command.end(), {flags[i], flags[i + 1]});
  }
  return command;
}

Arguments small_training(const std::string& corpus, int steps) {
  return joined({{"train", "--model", "model", "--recipe", "transformer-tiny", "--train", corpus},
                 shape,
                 {"--tokenizer",
                  "character",
                  "--vocabulary-size",
                  "32",
                  "--hold-out",
                  "5",
                  "--max-length",
                  "16",
                  "--batch-tokens",
                  "100",
                  "--valid-sentences",
                  "2",
                  "--valid-every",
                  "1",
                  "--save-every",
                  "1",
                  "--report-every",
                  "1",
                  "--keep",
                  "9",
                  "--threads",
                  "2",
                  "--quiet",
                  "--max-steps",
                  fmt::format("{}", steps)}});
}

Scenario make_scenario(const std::string& name) {
  if (name == "train") {
    const Arguments command = small_training("pairs.tsv", 3);
    return {.name = name,
            .before = small_corpus_files(),
            .command = command,
            .model = "model",
            .again = joined({command, {"--resume"}})};
  }
  if (name == "resume") {
    return {.name = name,
            .before = trained(2),
            .command = resuming(4),
            .model = "model",
            .resumes = true,
            .again = resuming(4)};
  }
  if (name == "overwrite") return overwrite_scenario(name);
  if (name == "overwrite_again") return overwrite_again(name, 0.25);
  if (name == "resume_overwrite") {
    Scenario s = overwrite_again(name, 0.5);
    s.command = resuming(3);
    s.resumes = true;
    s.again = s.command;
    s.resume = {};
    return s;
  }
  if (name == "translate")
    return output_scenario(name, trained(2), {"translate", "--model", "model", "--input", "lines.txt"}, "out.txt");
  if (name == "shard")
    return output_scenario(
        name, trained(2),
        {"translate", "--model", "model", "--input", "lines.txt", "--shards", "2", "--shard", "0"}, "out.txt");
  if (name == "score")
    return output_scenario(name, trained(2), {"score", "--model", "model", "--input", "pairs.tsv"}, "scores.txt");
  if (name == "shortlist")
    return output_scenario(name, trained(2), {"shortlist", "--model", "model", "--train", "pairs.tsv"},
                           "model.shortlist");
  if (name == "inspect")
    return output_scenario(name, trained(2), {"inspect", "--model", "model", "123"}, "picture.html");
  if (name == "convert" || name == "convert_gguf") return convert_scenario(name == "convert_gguf");
  if (name == "evaluate") {
    Scenario s = output_scenario(
        name, trained(2),
        {"evaluate", "--model", "model", "--input", "pairs.tsv", "--limit", "2", "--page", "page.html"}, "out.txt");
    s.before["page.html"] = "what was there before\n";
    s.outputs.push_back("page.html");
    return s;
  }
  if (name == "plot") {
    Snapshot before = trained(2);
    before["curves.svg"] = "what was there before\n";
    const Arguments command = {"plot", "model", "--output", "curves.svg"};
    return {.name = name, .before = before, .command = command, .outputs = {"curves.svg"}, .again = command};
  }
  if (name == "explain" || name == "compare") {
    Snapshot before = trained(2);
    before["curves.svg"] = "what was there before\n";
    Arguments command = {"explain", "--model", "model", "--output", "curves.svg"};
    if (name == "compare")
      command = {"compare", "full", "window=4", "--sweep", "length=8..16", "--output", "curves.svg"};
    return {.name = name, .before = before, .command = command, .outputs = {"curves.svg"}, .again = command};
  }
  if (name == "demo") return demo_scenario();
  fail("scenario", "there is none called '{}'", name);
}

}  // namespace qkv
