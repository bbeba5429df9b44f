#include <algorithm>

#include "qkv/base/error.h"
#include "qkv/decode/speculation.h"

namespace qkv {
namespace {

constexpr size_t ngrams[] = {3, 2};  // the number of the last tokens that are looked for

class LookupProposer final : public Proposer {
 public:
  explicit LookupProposer(int64_t limit) : limit_(limit) {}

  std::vector<std::vector<int32_t>> propose(std::span<const Row> rows) override {
    std::vector<std::vector<int32_t>> out;
    for (const Row& row : rows) out.push_back(looked_up(row.tokens, std::min(row.limit, limit_)));
    return out;
  }

 private:
  int64_t limit_;
};

}  // namespace

std::vector<int32_t> looked_up(std::span<const int32_t> tokens, int64_t limit) {
  std::vector<int32_t> found;
  if (limit <= 0) return found;
  for (const size_t n : ngrams) {
    if (tokens.size() <= n) continue;
    const auto last = tokens.last(n);
    // What ends before the last token.
    for (size_t end = tokens.size() - 1; end >= n; --end) {
      if (!std::ranges::equal(tokens.subspan(end - n, n), last)) continue;
      for (size_t i = end; std::ssize(found) < limit; ++i)
        found.push_back(i < tokens.size() ? tokens[i] : found[i - tokens.size()]);
      return found;
    }
  }
  return found;
}

std::shared_ptr<Proposer> lookup_proposer(int64_t limit) {
  require<UsageError>(limit >= 1, "lookup_proposer", "the number of tokens must be at least 1, got {}", limit);
  return std::make_shared<LookupProposer>(limit);
}

}  // namespace qkv
