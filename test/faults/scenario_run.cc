#include "test/faults/scenario_run.h"

#include <algorithm>
#include <csignal>

#include "qkv/base/error.h"
#include "test/faults/same_training.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

constexpr size_t max_findings = 12;

std::string bytes_of(const Snapshot& files, const std::string& name) {
  const auto at = files.find(name);
  return at == files.end() ? "" : at->second;
}

bool holds(const Snapshot& files, const std::string& name, const std::string& bytes) {
  const auto at = files.find(name);
  return at != files.end() && at->second == bytes;
}

// A committed training whose files are not all at their final paths yet: readers find them here, and the next
// writer moves them.
const std::string committed = "training/committed/";

bool is_published(const Snapshot& files, const std::string& model) {
  return !model.empty() &&
         files.lower_bound(model + "/" + committed) != files.lower_bound(model + "/" + committed + "~");
}

// The files of the model as a reader finds them.
Snapshot model_in(const Snapshot& files, const std::string& model) {
  Snapshot found;
  for (const char* name : {"config.json", "model.safetensors", "source.model", "target.model", "held-out.tsv"}) {
    const std::string staged = bytes_of(files, model + "/" + committed + name);
    found[name] = staged.empty() ? bytes_of(files, model + "/" + name) : staged;
  }
  return found;
}

bool is_foreign(const std::string& name) {
  for (const char* end : {"notes.txt", "README.txt", "notes.tsv"})
    if (name.ends_with(end)) return true;
  return false;
}

bool is_empty(const Snapshot& model) {
  return std::all_of(model.begin(), model.end(), [](const auto& file) { return file.second.empty(); });
}

std::string describe(const FaultPlan& plan) {
  const std::string how = plan.error == kill_process ? "kill" : fmt::format("errno {}", plan.error);
  if (plan.disk_bytes >= 0) return fmt::format("disk of {} bytes: {}", plan.disk_bytes, how);
  return fmt::format("{} {}{}: {}", call_names[index_of(plan.call)], plan.at, plan.lasting ? " and later" : "",
                     how);
}

std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

Tally& Tally::operator+=(const Tally& other) {
  for (int64_t Tally::*field : {&Tally::runs, &Tally::failures, &Tally::compared, &Tally::lost, &Tally::crashed,
                                &Tally::unclear, &Tally::wrong, &Tally::different, &Tally::leftover})
    this->*field += other.*field;
  return *this;
}

std::string Tally::to_string() const {
  return fmt::format(
      "{} runs, {} failures injected, {} files compared: {} lost, {} crashed, {} unclear, {} wrong, {} different, "
      "{} left over",
      runs, failures, compared, lost, crashed, unclear, wrong, different, leftover);
}

ScenarioRun::ScenarioRun(const Scenario& scenario)
    : scenario_(scenario),
      work_("scenario_run"),
      folder_(work_.path() / "run"),
      expected_(work_.path() / "expected") {
  restore(folder_, scenario_.before);
  quiet_ = run_command(scenario_.command, {.folder = folder_, .faults = FaultPlan{}});
  require(quiet_.succeeded(), scenario_.name, "it fails even without a failure: {}", quiet_.error);
  after_ = take_snapshot(folder_);
  restore(expected_, after_);
  if (!scenario_.model.empty()) learn_models();
}

// The model before, the one at the end, and those in between: a numbered checkpoint has the bytes of the model that
// is saved at the same step.
void ScenarioRun::learn_models() {
  const auto model = [&](const Snapshot& files, const std::string& weights) {
    Snapshot m = model_in(files, scenario_.model);
    if (!weights.empty()) m["model.safetensors"] = bytes_of(files, weights);
    return m;
  };
  models_ = {model(scenario_.before, ""), model(after_, "")};
  for (const auto& [name, bytes] : after_)
    if (name.find("/training/step-") != name.npos && !holds(scenario_.before, name, bytes))
      models_.push_back(model(after_, name));
  for (const Snapshot& files : models_) {
    const fs::path folder = work_.path() / "scored" / scenario_.model;
    restore(folder, files);
    scores_.push_back(is_empty(files) ? "" : scores(work_.path() / "scored"));
  }
}

// The model that a reader finds in the folder; empty if it finds none.
std::string ScenarioRun::scores(const fs::path& folder) const {
  const fs::path corpus = expected_ / "pairs.tsv";
  const Outcome o = run_command({"score", "--tokens", "--model", scenario_.model, "--input", corpus.string()},
                                {.folder = folder});
  return o.succeeded() ? o.output : "";
}

ScenarioRun::Holds ScenarioRun::model_of(const Snapshot& now) {
  const Snapshot files = model_in(now, scenario_.model);
  auto at = static_cast<size_t>(std::find(models_.begin(), models_.end(), files) - models_.begin());
  if (at == models_.size()) {
    const std::string said = scores(folder_);
    if (said.empty()) return is_empty(models_[0]) ? Holds::nothing : Holds::damaged;
    at = static_cast<size_t>(std::find(scores_.begin(), scores_.end(), said) - scores_.begin());
  }
  if (at == 0) return is_empty(models_[0]) ? Holds::nothing : Holds::old_model;
  return at < scores_.size() ? Holds::new_model : Holds::damaged;
}

void ScenarioRun::inject(const FaultPlan& plan) {
  const std::string what = describe(plan);
  restore(folder_, scenario_.before);
  const Outcome outcome = run_command(scenario_.command, {.folder = folder_, .faults = plan});
  ++tally_.runs;
  tally_.failures += outcome.injected;
  const bool killed = outcome.signal == SIGKILL && plan.error == kill_process && outcome.injected > 0;
  // Libraries that do not check the result of malloc(), or whose noexcept functions allocate (CLI11's), may end the
  // process: its files are safe all the same.
  const bool may_crash = plan.call == Call::malloc || (plan.call == Call::allocate && outcome.signal == SIGABRT);
  check_outcome(outcome, killed || (may_crash && outcome.signal != 0), what);
  const Snapshot now = take_snapshot(folder_);
  const std::string where = fmt::format("{} ({})", what, killed ? "killed" : last_line(outcome.error));
  check_bytes(now, where);
  if (outcome.succeeded()) {
    check_end(where, tally_.wrong);
  } else if (now != scenario_.before && now != after_) {  // neither nothing nor all of it was done
    run_again(where);
  }
}

void ScenarioRun::vary(const Variation& variation) {
  Snapshot before = scenario_.before;
  for (const auto& [name, bytes] : variation.files) before[name] = bytes;
  for (const std::string& name : variation.removed) before.erase(name);
  Arguments command = scenario_.command;
  // With an invalid number of steps, a training ends with the corpus.
  if (command.front() == "train") command.insert(command.end(), {"--max-epochs", "3"});
  command.insert(command.end(), variation.arguments.begin(), variation.arguments.end());
  restore(folder_, before);
  const Outcome outcome = run_command(command, {.folder = folder_});
  ++tally_.runs;
  const std::string where = fmt::format("{} ({})", variation.name, last_line(outcome.error));
  check_outcome(outcome, false, where);
  check_variation(before, take_snapshot(folder_), outcome, where);
  if (!variation.exact || !outcome.succeeded()) return;
  if (variation.arguments.empty()) {
    check_end(where, tally_.wrong);
  } else if (model_of(take_snapshot(folder_)) == Holds::damaged) {
    found(tally_.wrong, where + ": another model than without it");
  }
}

// A command that refuses what it is given changes no file. One that succeeds changes its own, into complete ones;
// so does a training that began, and whose numbers then grew out of bounds.
void ScenarioRun::check_variation(const Snapshot& before, const Snapshot& now, const Outcome& outcome,
                                  const std::string& what) {
  const bool began = outcome.succeeded() || outcome.error.find("the loss is") != std::string::npos;
  const bool in_motion = is_published(before, scenario_.model);
  const auto is_own = [&](const std::string& name) {
    return (began || in_motion) && !is_foreign(name) &&
           (is_output(name) || (!scenario_.model.empty() && name.starts_with(scenario_.model + "/")));
  };
  for (const auto& [name, bytes] : before) {
    ++tally_.compared;
    if (holds(now, name, bytes)) continue;
    if (!is_own(name)) found(tally_.lost, fmt::format("{}: {}", what, name));
  }
  if (!began && in_motion && model_in(before, scenario_.model) != model_in(now, scenario_.model))
    found(tally_.lost, what + ": the published model");
  const bool had_model = before.contains(scenario_.model + "/config.json") && !scenario_.model.empty();
  if (began && had_model && now != before && scores(folder_).empty())
    found(tally_.lost, what + ": there is no readable model any more");
}

bool ScenarioRun::is_output(const std::string& name) const {
  return std::find(scenario_.outputs.begin(), scenario_.outputs.end(), name) != scenario_.outputs.end();
}

void ScenarioRun::check_outcome(const Outcome& outcome, bool expected, const std::string& what) {
  if (expected || outcome.succeeded()) return;
  if (outcome.signal != 0) return found(tally_.crashed, fmt::format("{}: signal {}", what, outcome.signal));
  const bool named = outcome.error.find(": ") != std::string::npos;
  if (!named || outcome.code > 2)
    found(tally_.unclear, fmt::format("{}: exit {}, says '{}'", what, outcome.code, last_line(outcome.error)));
}

void ScenarioRun::check_bytes(const Snapshot& now, const std::string& what) {
  const Holds model = scenario_.model.empty() ? Holds::nothing : model_of(now);
  if (model == Holds::damaged) found(tally_.lost, what + ": neither the old model nor a new one");
  const bool in_motion = is_published(scenario_.before, scenario_.model);
  for (const auto& [name, bytes] : scenario_.before) {
    ++tally_.compared;
    if (holds(now, name, bytes)) continue;
    const bool in_model = !scenario_.model.empty() && name.starts_with(scenario_.model + "/") && !is_foreign(name);
    const bool of_state =
        scenario_.resumes && (name.find("/training/") != name.npos || name.ends_with("model.safetensors"));
    const bool replaced = is_output(name) ? holds(now, name, bytes_of(after_, name))
                                          : in_model && (model == Holds::new_model || of_state || in_motion);
    // A damaged model is one loss, counted above.
    if (!replaced && !(in_model && model == Holds::damaged)) found(tally_.lost, fmt::format("{}: {}", what, name));
  }
}

// The folder has the files of the run without failures.
void ScenarioRun::check_end(const std::string& what, int64_t& differing) {
  const Snapshot now = take_snapshot(folder_);
  for (const std::string& name : scenario_.outputs)
    if (!holds(now, name, bytes_of(after_, name))) found(differing, fmt::format("{}: {}", what, name));
  if (scenario_.model.empty()) return;
  const std::string difference = training_difference(expected_ / scenario_.model, folder_ / scenario_.model);
  if (!difference.empty()) found(differing, fmt::format("{}: {}", what, difference));
}

void ScenarioRun::run_again(const std::string& what) {
  // Every other time with the line that resumes, which may refuse, but not harm.
  const bool resumes = !scenario_.resume.empty() && tally_.runs % 2 == 0;
  const std::string after = what + (resumes ? ", resumed" : ", run again");
  Outcome last;
  if (resumes) {
    last = run_command(scenario_.resume, {.folder = folder_});
    if (!last.succeeded() && model_of(take_snapshot(folder_)) == Holds::damaged)
      found(tally_.lost, after + ": neither the old model nor a new one");
  }
  if (!resumes || !last.succeeded()) last = run_command(scenario_.again, {.folder = folder_});
  if (!last.succeeded()) return found(tally_.different, fmt::format("{}: {}", after, last_line(last.error)));
  check_end(after, tally_.different);
  const Snapshot now = take_snapshot(folder_);
  for (const auto& [name, bytes] : after_)
    if (!now.contains(name)) found(tally_.different, fmt::format("{}: no {}", after, name));
  for (const auto& [name, bytes] : now)
    if (!after_.contains(name)) found(tally_.leftover, fmt::format("{}: {}", after, name));
}

void ScenarioRun::found(int64_t& count, const std::string& what) {
  ++count;
  const char* kind = &count == &tally_.lost       ? "lost"
                     : &count == &tally_.crashed  ? "crashed"
                     : &count == &tally_.unclear  ? "unclear"
                     : &count == &tally_.wrong    ? "wrong"
                     : &count == &tally_.leftover ? "left over"
                                                  : "different";
  findings_.push_back(fmt::format("{}: {}: {}", scenario_.name, kind, what));
}

std::string ScenarioRun::findings() const {
  std::string text;
  for (size_t i = 0; i < std::min(findings_.size(), max_findings); ++i) text += findings_[i] + "\n";
  if (findings_.size() > max_findings) text += fmt::format("and {} more\n", findings_.size() - max_findings);
  return text;
}

}  // namespace qkv
