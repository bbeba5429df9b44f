// Saving and resuming.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "qkv/autograd/profile.h"
#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/threads.h"
#include "qkv/pipeline/generation_config.h"
#include "qkv/train/held_out.h"
#include "qkv/train/ranks.h"
#include "qkv/train/stop_reason.h"
#include "qkv/train/trainer.h"

namespace qkv {

void Trainer::resume(const Checkpoint& checkpoint) {
  state_ = checkpoint.state();
  const bool several = options_.train.list.size() > 1;
  require<InputError>(state_.corpus == task_.fingerprint(), to_string(options_.train),
                      "{} not the data that the training in {} was started with{}; to train its model on other "
                      "data, give that folder as init",
                      several ? "these are" : "this is", folder_.root().string(), several ? ", in its order" : "");
  const bool held_out = check_held_out(folder_.root(), task_.held_out());
  task_.seek(state_.position);
  loaded_ = update_.state_to_load();
  checkpoint.load(task_.model(), loaded_);
  best_ = EarlyStopping(stopping_options(options_), state_.best);
  state_.finished = false;
  // If the training was killed between writing its first state and the model, the state has the parameters of the
  // model.
  const bool lost = state_.has_model && !folder_.has_model();
  require<InputError>(
      !lost || !validates() || state_.best.best_step == state_.step, folder_.root().string(),
      "model.safetensors is missing: it was the best model, from step {}, and the training is at step {}; "
      "restore it, or start again with overwrite",
      state_.best.best_step, state_.step);
  folder_.begin();
  if (!held_out) save_held_out(folder_.root(), task_.held_out());
  if (lost) save_model_files();
  if (state_.has_model) folder_.publish();
}

// What to do about numbers that are not finite.
std::string Trainer::advice() const {
  const std::string saved = state_.saved.empty()
                                ? "nothing has been saved yet"
                                : fmt::format("the last checkpoint is from step {}", state_.saved.back());
  return saved + "; try a smaller learning-rate, a longer warmup, or clip 1";
}

// The next update would report a loss that is not finite, but after the last update there is no next one.
void Trainer::check_parameters() {
  if (std::exchange(checked_, state_.step) == state_.step) return;
  task_.model().visit([&](const std::string& name, Variable& parameter) {
    const std::span<const float> values = std::as_const(parameter).value().span<float>();
    std::atomic<bool> finite = true;
    parallel_ranges(static_cast<int64_t>(values.size()), 1 << 16, [&](int64_t begin, int64_t end) {
      const auto part = values.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
      if (!std::all_of(part.begin(), part.end(), [](float x) { return std::isfinite(x); })) finite = false;
    });
    require(finite, "train", "step {}: parameter {} is not finite and is not saved; {}", state_.step, name,
            advice());
  });
}

// A model is saved before the state that refers to it, except for the first one: a folder with a model always has a
// state to resume from. Then both replace those of another training.
void Trainer::save(Due due) {
  const OpScope scope("saving", OpPass::other);
  const auto begin = Clock::now();
  check_parameters();
  state_.has_model = state_.has_model || due.model;
  const bool first = !folder_.has_state();
  if (first) save_state();
  if (due.model) save_model_files();
  if (!first && due.state) save_state();
  if (state_.has_model) publish();
  if (first || due.state) folder_.clean(state_.saved);
  if (time_) time_->saved(std::chrono::duration<double>(Clock::now() - begin).count());
}

void Trainer::publish() {
  if (!folder_.replaces()) return;
  folder_.publish();
  open_records(records_->bytes());
}

void Trainer::open_records(const RecordBytes& bytes) {
  records_.emplace(RecordFiles{.log = folder_.log(),
                               .metrics = folder_.metrics(),
                               .events = options_.tensorboard ? folder_.events() : std::filesystem::path()},
                   bytes);
}

void Trainer::save_numbered() {
  const OpScope scope("saving", OpPass::other);
  const auto keep = static_cast<size_t>(std::max(options_.keep, options_.average));
  if (keep > 0 && (state_.saved.empty() || state_.saved.back() != state_.step)) {
    check_parameters();
    save_parameters(folder_.checkpoint(state_.step), task_.model(), state_.vocabulary);
    state_.saved.push_back(state_.step);
  }
  if (state_.saved.size() > keep)
    state_.saved.erase(state_.saved.begin(), state_.saved.end() - static_cast<ptrdiff_t>(keep));
}

void Trainer::save_model_files() { save_model(folder_.root(), task_.model(), state_.vocabulary); }

// How a model searches and samples stays its own while it is trained on, as with save_pretrained() of transformers: a
// summariser made for length^2 that learns from more articles is still searched so.
void Trainer::keep_search_settings() {
  const Architecture architecture = options_.architecture.architecture();
  if (options_.init.empty() || architecture == Architecture::masked) return;
  const std::string settings = generation_settings(*open_model_folder(options_.init));
  if (settings.empty()) return;
  write_file(folder_.root() / "generation_config.json", settings);
  progress_.note(fmt::format("generation_config.json, with the defaults of search and sampling, is that of {}",
                             options_.init));
}

// Everything that the state refers to is on disk before it.
void Trainer::save_state() {
  if (!std::exchange(options_written_, true)) folder_.write_options(options_);
  records_->force();
  state_.records = records_->bytes();
  give_order(ranks_, {.kind = RankOrder::Kind::state});
  save_checkpoint(folder_.state(), state_, task_.model(), update_.state());
}

}  // namespace qkv
