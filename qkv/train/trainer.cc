#include "qkv/train/trainer.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <sys/resource.h>
#include <utility>

#include <nlohmann/json.hpp>

#include "qkv/base/error.h"
#include "qkv/base/threads.h"
#include "qkv/model/model_file.h"
#include "qkv/train/average.h"
#include "qkv/train/interrupt.h"

namespace qkv {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

TransformerConfig config_for(const TrainOptions& options, const TrainingData& data) {
  TransformerConfig config = options.architecture;
  config.source_vocabulary = data.vocabularies.source.size();
  config.target_vocabulary = data.vocabularies.target.size();
  return config;
}

std::vector<Variable> parameters_in_order(Transformer& model) {
  std::vector<Variable> parameters;
  model.visit([&](const std::string&, Variable& parameter) { parameters.push_back(parameter); });
  return parameters;
}

std::string describe(const Validation& v) {
  std::string text = fmt::format("loss {:.4f}, perplexity {:.2f}", v.loss, v.perplexity());
  if (v.bleu) text += fmt::format(", BLEU {:.2f}", *v.bleu);
  return text;
}

void describe(const Validation& v, Json& line) {
  line["valid_loss"] = v.loss;
  line["valid_perplexity"] = v.perplexity();
  if (v.bleu) line["valid_bleu"] = *v.bleu;
}

// The most memory this process ever had.
int64_t peak_memory() {
  struct rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return int64_t{1024} * usage.ru_maxrss;
}

double score_of(const Validation& v, Goal goal) { return goal == Goal::loss ? v.loss : v.bleu.value_or(0); }

// What to do when numbers are no numbers any more.
std::string advice(const TrainingState& state) {
  const std::string saved = state.saved.empty()
                                ? "nothing was saved yet"
                                : fmt::format("the last checkpoint is of step {}", state.saved.back());
  return saved + "; try a smaller learning-rate, a longer warmup, or clip 1";
}

EarlyStoppingOptions stopping(const TrainOptions& options) {
  return {.patience = options.patience, .larger_is_better = options.patience_on == Goal::bleu};
}

double window_loss(const TrainingState& state) {
  return state.window.tokens > 0 ? state.window.loss_sum / static_cast<double>(state.window.tokens) : state.loss;
}

}  // namespace

std::optional<Ending> ending_of(const TrainOptions& options, const TrainingState& state) {
  if (options.max_steps > 0 && state.step >= options.max_steps) return Ending::max_steps;
  if (options.max_epochs > 0 && state.position.epoch >= options.max_epochs) return Ending::max_epochs;
  if (EarlyStopping(stopping(options), state.best).exhausted()) return Ending::patience;
  return {};
}

bool is_finished(const TrainOptions& options, const TrainingState& state) {
  return state.finished && ending_of(options, state) &&
         train_options_from_json(state.options, "training").average == options.average;
}

TrainResult result_of(const TrainingState& state, Ending ending) {
  return {.ending = ending,
          .steps = state.step,
          .epochs = state.position.epoch,
          .loss = window_loss(state),
          .validation = state.best_validation,
          .best_step = state.best.best_step,
          .seconds = state.seconds,
          .tokens_per_s = state.seconds > 0 ? static_cast<double>(state.tokens) / state.seconds : 0,
          .peak_bytes = peak_memory()};
}

Trainer::Trainer(const TrainOptions& options, const TrainingData& data, TrainingFolder& folder,
                 const Checkpoint* checkpoint)
    : options_(options),
      data_(data),
      folder_(folder),
      model_(config_for(options, data), options.seed),
      parameters_(parameters_in_order(model_)),
      adam_(parameters_, options.adam()),
      schedule_(options.schedule_options()),
      batches_(data.train,
               {.batch_tokens = options.batch_tokens, .sentences = options.batch_sentences, .seed = options.seed}),
      validator_(data, {.batch_tokens = options.batch_tokens, .translated = options.valid_sentences}),
      best_(stopping(options)),
      progress_({.quiet = options.quiet, .terminal = Progress::stderr_is_terminal()}) {
  if (checkpoint) {
    go_on(*checkpoint);
  } else {
    state_.corpus = data_.train.fingerprint();
    state_.vocabulary = data_.vocabularies.checksums();
    folder_.begin();
    folder_.write_options(options_);
    options_written_ = true;
    save_data(folder_.root(), data_);
  }
  state_.options = to_json(options_);
  log_.emplace(folder_.log(), state_.log_bytes);
  first_step_ = state_.step;
  first_tokens_ = state_.tokens;
  first_seconds_ = state_.seconds;
}

void Trainer::go_on(const Checkpoint& checkpoint) {
  state_ = checkpoint.state();
  require<InputError>(state_.corpus == data_.train.fingerprint(), folder_.state().string(),
                      "{} has other sentence pairs than the training began with", options_.train);
  check_held_out(folder_.root(), data_);
  batches_.seek(state_.position);
  checkpoint.load(model_, adam_);
  best_ = EarlyStopping(stopping(options_), state_.best);
  state_.finished = false;
  // Killed between the first state and the model beside it, the model is the one of the state.
  const bool lost = state_.has_model && !folder_.has_model();
  require<InputError>(
      !lost || !validates() || state_.best.best_step == state_.step, folder_.root().string(),
      "model.safetensors is gone: it was the best model, of step {}, and the training is at step {}; "
      "put it back, or begin anew with overwrite",
      state_.best.best_step, state_.step);
  folder_.begin();
  if (!std::filesystem::exists(folder_.root() / "held-out.tsv")) save_data(folder_.root(), data_);
  if (lost) save_model_files();
  if (state_.has_model) folder_.publish();
}

std::optional<Ending> Trainer::over() const { return ending_of(options_, state_); }

TrainResult Trainer::run() {
  const Interrupt interrupt;
  introduce();
  while (!over()) {
    if (interrupt.requested()) return interrupted(interrupt.signal());
    update();
    show_progress();
    if (due(options_.report_every)) report();
    Due files;
    if (due(options_.valid_every) && validates()) files.model = validate();
    if (due(options_.save_every)) {
      files = {.model = files.model || !validates(), .state = true};
      save_numbered();
    }
    if (files.model || files.state) save(files);
  }
  finish();
  return result_of(state_, *over());
}

TrainResult Trainer::interrupted(int signal) {
  // A folder without any model is of no use to anybody; one with another model keeps it until this one is due.
  save({.model = !folder_.replaces() && (!validates() || !state_.best_validation), .state = true});
  progress_.note(fmt::format("stopped after step {}, all is saved; resume goes on{}", state_.step,
                             folder_.replaces() ? ", and the model in the folder stays until then" : ""));
  TrainResult result = result_of(state_, Ending::interrupted);
  result.signal = signal;
  return result;
}

void Trainer::introduce() {
  const EncodedCorpus::Skipped& skipped = data_.train.skipped();
  progress_.note(fmt::format("{} pairs to learn from ({} blank, {} too long, {} held out), {} to validate on",
                             data_.train.size(), skipped.blank, skipped.too_long, skipped.held_out,
                             data_.valid.size()));
  progress_.note(fmt::format("{} parameters, vocabularies of {} and {} pieces, {} threads",
                             model_.parameter_count(), data_.vocabularies.source.size(),
                             data_.vocabularies.target.size(), threads()));
  if (state_.step > 0) progress_.note(fmt::format("going on after step {}", state_.step));
}

void Trainer::update() {
  const auto begin = Clock::now();
  const BatchPosition position = batches_.position();
  std::vector<Batch> parts;
  int64_t tokens = 0;
  for (int64_t i = 0; i < options_.accumulate; ++i) {
    parts.push_back(batches_.next());
    tokens += parts.back().target_tokens;
  }
  // Sums here and one division at the end: so many small batches make the same update as a large one.
  double loss = 0;
  auto place = static_cast<uint64_t>(state_.step * options_.accumulate);
  for (const Batch& batch : parts) {
    Pass pass{.training = true, .seed = options_.seed, .step = place++};
    const CrossEntropy part = model_.loss(batch.source, batch.source_lengths, batch.target_in, batch.target_out,
                                          {.label_smoothing = static_cast<float>(options_.label_smoothing),
                                           .ignore_index = Tokenizer::pad,
                                           .reduction = CrossEntropyOptions::Reduction::sum},
                                          pass);
    part.loss.backward();
    loss += static_cast<double>(part.loss.value().at<float>({0}));
  }
  const double scale = 1.0 / static_cast<double>(tokens);
  norm_ = gradient_norm(parameters_) * scale;
  check_numbers(loss, position);
  rate_ = schedule_.rate(state_.step + 1);
  adam_.step(rate_, scale * clip_factor(norm_, options_.clip));
  adam_.zero_grad();

  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  ++state_.step;
  state_.position = batches_.position();
  state_.tokens += tokens;
  state_.seconds += seconds;
  state_.window.loss_sum += loss;
  state_.window.tokens += tokens;
  state_.window.seconds += seconds;
}

void Trainer::check_numbers(double loss, BatchPosition position) const {
  if (std::isfinite(loss) && std::isfinite(norm_)) return;
  fail("train", "step {}: the loss is {}, the gradient's norm {} (epoch {}, batch {}); {}", state_.step + 1, loss,
       norm_, position.epoch + 1, position.batch + 1, advice(state_));
}

// The loss of the next update would tell, but the last one has none.
void Trainer::check_parameters() {
  if (std::exchange(checked_, state_.step) == state_.step) return;
  model_.visit([&](const std::string& name, Variable& parameter) {
    const std::span<const float> values = std::as_const(parameter).value().span<float>();
    std::atomic<bool> finite = true;
    parallel_ranges(static_cast<int64_t>(values.size()), 1 << 16, [&](int64_t begin, int64_t end) {
      const auto part = values.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
      if (!std::all_of(part.begin(), part.end(), [](float x) { return std::isfinite(x); })) finite = false;
    });
    require(finite, "train", "step {}: parameter {} is not finite any more, and is not saved; {}", state_.step,
            name, advice(state_));
  });
}

void Trainer::report() {
  state_.loss = window_loss(state_);
  Json line;
  line["step"] = state_.step;
  line["epoch"] = state_.position.epoch + 1;
  line["loss"] = state_.loss;
  line["learning_rate"] = rate_;
  line["grad_norm"] = norm_;
  line["tokens"] = state_.tokens;
  line["tokens_per_s"] = std::round(static_cast<double>(state_.window.tokens) / state_.window.seconds);
  line["seconds"] = state_.seconds;
  log_->write(line.dump());
  state_.window = {};
}

bool Trainer::validate() {
  const auto begin = Clock::now();
  const Validation v = validator_.measure(model_);
  const bool is_best = best_.offer(score_of(v, options_.patience_on), state_.step);
  state_.best = best_.state();
  state_.validated = state_.step;
  if (is_best) state_.best_validation = v;
  Json line;
  line["step"] = state_.step;
  line["epoch"] = state_.position.epoch + 1;
  describe(v, line);
  line["best"] = is_best;
  line["valid_seconds"] = std::chrono::duration<double>(Clock::now() - begin).count();
  log_->write(line.dump());
  progress_.note(
      fmt::format("step {}: validation {}{}", state_.step, describe(v), is_best ? ", the best so far" : ""));
  return is_best;
}

// A model is saved before the state that counts on it. The first one is saved after it: a folder with a model
// always has a state to go on from. Then both take the place of those of another training.
void Trainer::save(Due due) {
  check_parameters();
  state_.has_model = state_.has_model || due.model;
  const bool first = !folder_.has_state();
  if (first) save_state();
  if (due.model) save_model_files();
  if (!first && due.state) save_state();
  if (state_.has_model) publish();
  if (first || due.state) folder_.clean(state_.saved);
}

void Trainer::publish() {
  if (!folder_.replaces()) return;
  folder_.publish();
  log_.emplace(folder_.log(), log_->bytes());
}

void Trainer::save_numbered() {
  const auto keep = static_cast<size_t>(std::max(options_.keep, options_.average));
  if (keep > 0 && (state_.saved.empty() || state_.saved.back() != state_.step)) {
    check_parameters();
    save_parameters(folder_.checkpoint(state_.step), model_, state_.vocabulary);
    state_.saved.push_back(state_.step);
  }
  if (state_.saved.size() > keep)
    state_.saved.erase(state_.saved.begin(), state_.saved.end() - static_cast<ptrdiff_t>(keep));
}

void Trainer::save_model_files() { save_model(folder_.root(), model_, state_.vocabulary); }

// Everything that the state counts on is on the disk before it.
void Trainer::save_state() {
  if (!std::exchange(options_written_, true)) folder_.write_options(options_);
  log_->force();
  state_.log_bytes = log_->bytes();
  save_checkpoint(folder_.state(), state_, model_, adam_);
}

void Trainer::finish() {
  if (state_.window.tokens > 0 && options_.report_every > 0) report();
  const bool is_best = validates() && state_.validated != state_.step && validate();
  save_numbered();
  const bool averages = options_.average > 1 && state_.saved.size() > 1;
  state_.finished = !averages;
  save({.model = is_best || !validates(), .state = true});
  if (averages) average();
  const TrainResult r = result_of(state_, *over());
  progress_.note(fmt::format("done: {} steps, {} target tokens in {} of updates ({} tokens/s), {:.0f} MB of memory",
                             r.steps, format_count(static_cast<double>(state_.tokens)), format_seconds(r.seconds),
                             format_count(r.tokens_per_s), static_cast<double>(r.peak_bytes) / 1e6));
}

// The mean of the last checkpoints becomes the model, unless a single one is better. The training itself can go on
// from the last one.
void Trainer::average() {
  const size_t count = std::min(state_.saved.size(), static_cast<size_t>(options_.average));
  std::vector<std::filesystem::path> files;
  for (size_t i = state_.saved.size() - count; i < state_.saved.size(); ++i)
    files.push_back(folder_.checkpoint(state_.saved[i]));
  const NamedTensors mean = average_checkpoints(files);
  NamedTensors last;
  for (const auto& [name, tensor] : parameters_of(model_)) last.emplace_back(name, tensor.clone());
  set_parameters(mean);
  bool is_best = true;
  std::string note = fmt::format("mean of the last {} checkpoints", count);
  Json line;
  line["step"] = state_.step;
  line["averaged"] = count;
  if (validates()) {
    const Validation v = validator_.measure(model_);
    is_best = best_.better(score_of(v, options_.patience_on));
    if (is_best) state_.best_validation = v;
    note += fmt::format(": validation {}{}", describe(v), is_best ? ", the best" : "; a single one is better");
    describe(v, line);
  }
  line["best"] = is_best;
  if (is_best) save_model_files();
  log_->write(line.dump());
  progress_.note(note);
  set_parameters(last);
  state_.finished = true;
  save_state();
}

void Trainer::set_parameters(const NamedTensors& values) {
  size_t i = 0;
  for (Variable& parameter : parameters_) parameter.mutable_value().copy_from(values[i++].second);
}

void Trainer::show_progress() {
  const double seconds = state_.seconds - first_seconds_;
  const double per_step = seconds / static_cast<double>(state_.step - first_step_);
  ProgressLine line{.step = state_.step,
                    .steps = options_.max_steps,
                    .epoch = state_.position.epoch + 1,
                    .loss = window_loss(state_),
                    .rate = rate_,
                    .tokens_per_s = static_cast<double>(state_.tokens - first_tokens_) / seconds};
  if (options_.max_epochs > 0) {
    const int64_t batches = (options_.max_epochs - state_.position.epoch) * batches_.batches_in_epoch();
    const int64_t last = state_.step + (batches - state_.position.batch) / options_.accumulate;
    line.steps = line.steps > 0 ? std::min(line.steps, last) : last;
  }
  if (line.steps > 0) line.seconds_left = per_step * static_cast<double>(line.steps - state_.step);
  progress_.show(line);
}

namespace {

// A state that the options agree with.
std::optional<Checkpoint> checkpoint_for(const TrainOptions& options, const TrainingFolder& folder) {
  if (!folder.goes_on()) return {};
  std::optional<Checkpoint> checkpoint(folder.state());
  const std::string where = folder.state().string();
  const std::optional<std::string> changed = difference(checkpoint->state().options, options, where);
  require<UsageError>(!changed, "resume", "{}, which a training that goes on cannot change", changed.value_or(""));
  return checkpoint;
}

}  // namespace

TrainResult train(const TrainOptions& options) {
  options.check();
  if (options.threads > 0) set_threads(options.threads);
  TrainingFolder folder(options);
  const std::optional<Checkpoint> checkpoint = checkpoint_for(options, folder);
  if (checkpoint && folder.has_model() && is_finished(options, checkpoint->state())) {
    if (!options.quiet)
      fmt::print(stderr, "this training is finished, after step {}; more max-steps or max-epochs go on with it\n",
                 checkpoint->state().step);
    return result_of(checkpoint->state(), *ending_of(options, checkpoint->state()));
  }
  if (!options.quiet && Progress::stderr_is_terminal()) fmt::print(stderr, "reading {}\n", options.train);
  std::optional<Vocabularies> vocabularies;
  if (checkpoint) vocabularies = load_vocabularies(folder.root(), checkpoint->state().vocabulary);
  const TrainingData data = prepare_data(options, vocabularies);
  if (options.before_updates) options.before_updates();
  return Trainer(options, data, folder, checkpoint ? &*checkpoint : nullptr).run();
}

}  // namespace qkv
