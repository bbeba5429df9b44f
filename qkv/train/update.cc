#include "qkv/train/update.h"

#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>

#include "qkv/base/error.h"
#include "qkv/train/exchange_thread.h"
#include "qkv/train/gradient_exchange.h"
#include "qkv/train/gradient_norm.h"

namespace qkv {
namespace {

using Clock = std::chrono::steady_clock;

// What ranks tell each other of their pieces; after it, for each parameter whether it has a gradient.
struct PieceReport {
  double loss = 0;
  int64_t tokens = 0;
  double seconds = 0;
};

std::vector<double> doubles_of(std::span<const std::byte> bytes) {
  std::vector<double> numbers(bytes.size() / sizeof(double));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

void broadcast_numbers(Communicator& c, Tensor numbers) {
  if (numbers.dtype() == DType::bf16)
    c.broadcast(0, writable_bytes_of(numbers.span<bfloat16>()));
  else
    c.broadcast(0, writable_bytes_of(numbers.span<float>()));
}

// Of the group of this rank, in the order of their parts.
std::vector<int> context_ranks(const Communicator& c, int groups) {
  std::vector<int> ranks;
  for (int rank = c.rank() % groups; rank < c.size(); rank += groups) ranks.push_back(rank);
  return ranks;
}

template <class T>
T broadcast_value(Communicator& c, T value) {
  c.broadcast(0, writable_bytes_of(std::span(&value, 1)));
  return value;
}

}  // namespace

UpdateOptions update_options(const TrainOptions& options) {
  return {.loss = {.label_smoothing = options.label_smoothing, .r_drop = options.r_drop},
          .optimizer = options.optimizer_options(),
          .accumulate = options.accumulate,
          .pieces = options.pieces,
          .context_parallel = options.context_parallel,
          .shard_optimizer = options.shard_optimizer,
          .communication = options.communication,
          .clip = options.clip,
          .seed = options.seed,
          .recompute = options.recompute};
}

Update::Update(TrainingTask& task, const UpdateOptions& options, Communicator& c)
    : task_(task), options_(options), c_(c) {
  require<UsageError>(options.pieces >= 1 && std::has_single_bit(static_cast<uint64_t>(options.pieces)), "train",
                      "pieces must be a power of two, got {}", options.pieces);
  require<UsageError>(options.context_parallel >= 1 && c.size() % options.context_parallel == 0, "train",
                      "context-parallel must divide the number of processes: it is {}, there are {}",
                      options.context_parallel, c.size());
  require<UsageError>(options.pieces % groups() == 0, "train",
                      "the number of processes, divided by context-parallel, must divide pieces: there are {} "
                      "processes, context-parallel is {}, pieces is {}",
                      c.size(), options.context_parallel, options.pieces);
  if (options.context_parallel > 1) context_.emplace(c, context_ranks(c, groups()));
  NamedParameters named;
  task.model().visit([&](const std::string& name, Variable& parameter) {
    parameters_.push_back(parameter);
    named.emplace_back(name, parameter);
  });
  require<UsageError>(!options.shard_optimizer || is_elementwise(options.optimizer.kind), "train",
                      "shard-optimizer is for adam and adamw, whose state belongs to single numbers, got {}",
                      name_of(options.optimizer.kind));
  if (options.shard_optimizer && c.size() > 1) shards_.emplace(parameters_, c);
  optimizer_ =
      shards_ ? make_optimizer(shards_->own(), options.optimizer) : make_optimizer(named, options.optimizer);
  if (options.pieces > 1 || c.size() > 1 || options.communication != GradientFormat::f32)
    tree_.emplace(parameters_, options.communication);
}

// `exchange`: of the last piece of this rank.
Update::Sums Update::sum_piece(int64_t first, int64_t last, ExchangeThread* exchange) {
  Sums sums;
  for (int64_t number = first; number < last; ++number) {
    Pass pass{.training = true,
              .seed = options_.seed,
              .step = static_cast<uint64_t>(number),
              .recompute = options_.recompute,
              .part = context_ ? SequencePart(*context_) : SequencePart()};
    const CrossEntropy part = task_.next_loss(options_.loss, pass);
    if (part.count == 0 && !context_)
      continue;  // others may have tokens of the sequences that they share with this rank
    if (exchange && number + 1 == last && overlaps())
      part.loss.backward(parameters_, [&](size_t i) { exchange->complete(i); });
    else
      part.loss.backward();
    sums.loss += static_cast<double>(part.loss.value().at<float>({0}));
    sums.tokens += part.count;
  }
  if (tree_ && !exchange) tree_->add();
  return sums;
}

void Update::skip_batches(int64_t count) {
  BatchPosition position = task_.position();
  for (int64_t i = 0; i < count; ++i) {
    if (++position.batch == task_.batches_in_epoch()) position = {position.epoch + 1, 0};
    task_.seek(position);
  }
}

// The pieces of this rank, between those of others; then the tree has the sums over all ranks.
Update::Sums Update::sum_own(const Batches& batches, double& seconds) {
  const int64_t own = options_.pieces / groups(), first = own * (c_.rank() % groups());
  const auto begin_of = [&](int64_t piece) { return batches.count * piece / options_.pieces; };
  skip_batches(begin_of(first));
  const auto began = Clock::now();
  std::vector<double> losses;
  Sums sums;
  std::optional<ExchangeThread> exchange;
  for (int64_t piece = first; piece < first + own; ++piece) {
    if (c_.size() > 1 && piece + 1 == first + own)
      exchange.emplace(c_, *tree_, options_.communication, shards_ ? shards_->shards() : std::span<const Shard>());
    const Sums s = sum_piece(batches.first + begin_of(piece), batches.first + begin_of(piece + 1),
                             exchange ? &*exchange : nullptr);
    losses.push_back(s.loss);
    sums.tokens += s.tokens;
  }
  seconds += std::chrono::duration<double>(Clock::now() - began).count();
  if (exchange) exchange->finish();
  skip_batches(batches.count - begin_of(first + own));
  add_in_tree(static_cast<int>(own),
              [&](int to, int from) { losses[static_cast<size_t>(to)] += losses[static_cast<size_t>(from)]; });
  sums.loss = losses[0];
  return sums;
}

// The sums over all ranks.
Update::Sums Update::share(const Sums& own, double seconds, std::vector<double>& all_seconds) {
  all_seconds = {seconds};
  if (c_.size() == 1) return own;
  std::vector<uint8_t>& reached = tree_->reached();
  std::vector<std::byte> message(sizeof(PieceReport) + reached.size());
  const PieceReport mine{.loss = own.loss, .tokens = own.tokens, .seconds = seconds};
  std::memcpy(message.data(), &mine, sizeof mine);
  std::memcpy(message.data() + sizeof mine, reached.data(), reached.size());
  std::vector<PieceReport> reports;
  for (const std::vector<std::byte>& bytes : all_gather_bytes(c_, message)) {
    require(bytes.size() == message.size(), "train", "a rank has {} parameters, another {}", reached.size(),
            bytes.size() - sizeof mine);
    std::memcpy(&reports.emplace_back(), bytes.data(), sizeof mine);
    for (size_t i = 0; i < reached.size(); ++i) reached[i] |= static_cast<uint8_t>(bytes[sizeof mine + i]);
  }
  all_seconds.clear();
  Sums sums;
  for (const PieceReport& report : reports) {
    sums.tokens += report.tokens;
    all_seconds.push_back(report.seconds);
  }
  add_in_tree(c_.size(), [&](int to, int from) {
    reports[static_cast<size_t>(to)].loss += reports[static_cast<size_t>(from)].loss;
  });
  sums.loss = reports[0].loss;
  return sums;
}

double Update::reduce(bool whole) {
  if (!tree_) return gradient_norm(parameters_);
  Tensor flat = tree_->sum();
  if (!shards_) {
    tree_->give(flat);
    return gradient_norm(parameters_);
  }
  shards_->give(flat, tree_->reached());
  // In the order of all ranges, as gradient_norm() adds them.
  double total = 0;
  for (const std::vector<std::byte>& squares : all_gather_bytes(c_, bytes_of(gradient_squares(shards_->own()))))
    for (const double square : doubles_of(squares)) total += square;
  if (whole) {
    all_gather(c_, flat, options_.communication, shards_->shards());
    tree_->give(flat);
  }
  return std::sqrt(total);
}

UpdateSums Update::sum_gradients(int64_t n, bool whole) {
  Batches batches{.first = n * options_.accumulate, .count = options_.accumulate};
  UpdateSums sums;
  double seconds = 0;
  for (;;) {
    const Sums own = sum_own(batches, seconds);  // adds to seconds, so before share() reads them
    const Sums all = share(own, seconds, sums.seconds);
    sums.loss = all.loss;
    sums.tokens = all.tokens;
    if (sums.tokens > 0) break;
    // Batches of masked text may have no masked token: one more.
    if (tree_) tree_->clear();
    batches = {.first = batches.first + batches.count, .count = 1};
  }
  const double mean = 1.0 / static_cast<double>(sums.tokens);
  sums.norm = reduce(whole) * mean;
  sums.gradient_scale = mean * clip_factor(sums.norm, options_.clip);
  return sums;
}

void Update::step(double learning_rate, const UpdateSums& sums) {
  optimizer_->step(learning_rate, sums.gradient_scale);
  if (shards_) optimizer_->zero_grad();  // of the parts, which have gradients of their own
  for (Variable& parameter : parameters_) parameter.zero_grad();
  if (!tree_) return;
  if (shards_) {
    Tensor scratch = tree_->sum();
    shards_->gather(scratch);
  }
  tree_->clear();
}

std::vector<OptimizerState> Update::state() {
  return shards_ ? shards_->collect(optimizer_->state()) : optimizer_->state();
}

std::vector<OptimizerState> Update::state_to_load() {
  return shards_ ? shards_->blank_state(optimizer_->state()) : optimizer_->state();
}

void Update::begin(int64_t updates, const std::vector<OptimizerState>& loaded) {
  optimizer_->set_updates(broadcast_value(c_, updates));
  if (c_.size() == 1) return;
  task_.seek(broadcast_value(c_, task_.position()));
  for (Variable& parameter : parameters_) broadcast_numbers(c_, parameter.mutable_value());
  const bool is_loaded = broadcast_value(c_, !loaded.empty());
  if (!is_loaded) return;
  if (shards_) {
    shards_->distribute(loaded, optimizer_->state());
  } else {
    for (OptimizerState& state : optimizer_->state()) broadcast_numbers(c_, state.value);
  }
}

}  // namespace qkv
