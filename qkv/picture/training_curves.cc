#include "qkv/picture/training_curves.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/json.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

// Members of the lines of log.jsonl, train/train.h.
constexpr std::pair<const char*, const char*> log_members[] = {
    {"loss", "training loss"},          {"valid_loss", "validation loss"},
    {"valid_bleu", "validation BLEU"},  {"valid_accuracy", "validation accuracy"},
    {"learning_rate", "learning rate"},
};

fs::path log_of(const fs::path& run) {
  std::error_code error;
  if (!fs::is_directory(run, error)) {
    require<InputError>(file_exists(run), run.string(), "this is neither the folder of a model nor a log.jsonl");
    return run;
  }
  for (const fs::path& log : {run / "training" / "log.jsonl", run / "log.jsonl"})
    if (file_exists(log)) return log;
  fail<InputError>(run.string(), "there is no training/log.jsonl: no training has written to this folder");
}

std::vector<Json> lines_of(const fs::path& log) {
  std::istringstream text(read_file(log));
  std::vector<Json> lines;
  for (std::string line; std::getline(text, line);)
    if (std::optional<Json> json = Json::try_parse(line); json && json->is_object())
      lines.push_back(std::move(*json));
  return lines;
}

Curve curve_of(const std::vector<Json>& lines, const char* name) {
  Curve curve;
  for (const Json& line : lines) {
    const Json &step = line.value("step"), &value = line.value(name);
    // The mean of checkpoints is a validation of its own, at a step that has one already.
    if (step.is_number() && value.is_number() && !line.contains("averaged"))
      curve.push_back({step.get<double>(), value.get<double>()});
  }
  return curve;
}

// The last parts of the paths, where they differ.
std::vector<std::string> names_of(const std::vector<fs::path>& runs) {
  std::vector<std::string> names;
  for (const fs::path& run : runs) {
    const fs::path clean = fs::absolute(run).lexically_normal();
    names.push_back((clean.has_filename() ? clean : clean.parent_path()).filename().string());
  }
  for (size_t i = 0; i < names.size(); ++i)
    if (std::count(names.begin(), names.end(), names[i]) > 1) {
      for (size_t j = 0; j < names.size(); ++j) names[j] = runs[j].string();
      break;
    }
  return names;
}

}  // namespace

Curves training_curves(const std::vector<fs::path>& runs) {
  require<UsageError>(!runs.empty(), "curves", "give the folder of a training");
  CurvesContent content{.title = "Training", .runs = names_of(runs)};
  for (const auto& [name, title] : log_members) content.panels.push_back({.title = title});
  for (const fs::path& run : runs) {
    const fs::path log = log_of(run);
    const std::vector<Json> lines = lines_of(log);
    bool any = false;
    for (size_t i = 0; i < std::size(log_members); ++i) {
      content.panels[i].curves.push_back(curve_of(lines, log_members[i].first));
      any = any || !content.panels[i].curves.back().empty();
    }
    require<InputError>(any, log.string(), "this is not the log of a training: no line has a step and a loss");
  }
  return Curves(std::move(content));
}

}  // namespace qkv
