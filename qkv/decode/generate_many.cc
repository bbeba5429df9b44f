#include "qkv/decode/generate_many.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "qkv/base/error.h"

namespace qkv {
namespace {

using Ids = std::vector<int32_t>;

// The prompts that wait, longest first, and those whose rows are generated.
class Queue {
 public:
  Queue(std::span<const Ids> prompts, const GenerateManyOptions& options)
      : prompts_(prompts), options_(options), order_(prompts.size()) {
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::ranges::stable_sort(order_, std::ranges::greater(), [&](size_t i) { return longest(i); });
  }

  size_t prompt_of(size_t row) const { return order_[row]; }

  // The prompts that there is room for beside these rows; they are the next rows.
  std::vector<size_t> take(std::span<const size_t> live) {
    std::vector<size_t> taken;
    for (; next_ < order_.size(); ++next_) {
      const auto rows = static_cast<int64_t>(live.size() + taken.size());
      const size_t first = !live.empty() ? order_[live.front()] : !taken.empty() ? taken.front() : order_[next_];
      if (rows > 0 && rows + 1 > options_.batch_tokens / longest(first)) break;
      taken.push_back(order_[next_]);
    }
    return taken;
  }

 private:
  int64_t longest(size_t i) const {
    const GenerateOptions& how = options_.generate;
    const int64_t length = std::ssize(prompts_[i]) + how.max_tokens;
    return how.position_limit > 0 ? std::min(length, how.position_limit) : length;
  }

  std::span<const Ids> prompts_;
  const GenerateManyOptions& options_;
  std::vector<size_t> order_;  // of the prompts as rows
  size_t next_ = 0;
};

}  // namespace

std::vector<Generated> generate_many(const std::function<std::unique_ptr<Decoding>(int64_t rows)>& start,
                                     std::span<const Ids> prompts, const GenerateManyOptions& options,
                                     const OnToken& on_token, const std::function<void(int64_t)>& on_end) {
  const GenerateOptions& how = options.generate;
  require<UsageError>(options.batch_tokens >= 1, "generate", "batch-tokens must be at least 1, got {}",
                      options.batch_tokens);
  require(how.streams.empty() || how.streams.size() == prompts.size(), "generate",
          "{} prompts need a stream each, got {}", prompts.size(), how.streams.size());
  std::vector<Generated> found(prompts.size());
  Queue queue(prompts, options);
  std::unique_ptr<Decoding> rows;
  std::optional<Generation> generation;
  const auto add = [&](std::span<const size_t> taken) {
    std::vector<Ids> first;
    std::vector<uint64_t> streams;
    for (const size_t i : taken) {
      first.push_back(prompts[i]);
      streams.push_back(how.streams.empty() ? how.first_stream + i : how.streams[i]);
    }
    std::unique_ptr<Decoding> more = start(std::ssize(taken));
    if (generation) return generation->join(*more, first, streams);
    rows = std::move(more);
    GenerateOptions of_rows = how;
    of_rows.streams = std::move(streams);
    generation.emplace(*rows, first, of_rows);
  };
  const OnToken on_token_of_row = [&](size_t row, int32_t id) { return on_token(queue.prompt_of(row), id); };
  std::vector<size_t> live;
  int64_t ended = 0;
  while (true) {
    const std::vector<size_t> taken = queue.take(live);
    if (!taken.empty()) add(taken);
    if (!generation) break;
    generation->step(on_token ? on_token_of_row : OnToken());
    live = generation->live();
    const int64_t now_ended = std::ssize(generation->found()) - std::ssize(live);
    if (on_end && now_ended > ended) on_end(now_ended);
    ended = now_ended;
    if (ended == std::ssize(prompts)) break;
  }
  for (size_t row = 0; row < prompts.size(); ++row) found[queue.prompt_of(row)] = generation->found()[row];
  return found;
}

}  // namespace qkv
