#include "qkv/attention/distributed/row_exchange.h"

#include <algorithm>

#include "qkv/attention/distributed/add_rows.h"
#include "qkv/attention/distributed/tensor_bytes.h"
#include "qkv/base/error.h"

namespace qkv::internal {
namespace {

std::vector<KeyRange> disjoint(std::vector<KeyRange> ranges) {
  std::erase_if(ranges, [](const KeyRange& range) { return range.begin >= range.end; });
  std::sort(ranges.begin(), ranges.end(), [](const KeyRange& a, const KeyRange& b) { return a.begin < b.begin; });
  std::vector<KeyRange> all;
  for (const KeyRange& range : ranges) {
    if (!all.empty() && range.begin <= all.back().end)
      all.back().end = std::max(all.back().end, range.end);
    else
      all.push_back(range);
  }
  return all;
}

Tensor empty_rows(const Tensor& like, int64_t rows) {
  return Tensor::empty({like.dim(0), like.dim(1), rows, like.dim(3)}, like.dtype());
}

}  // namespace

RowExchange::RowExchange(Communicator& c, const SequenceLayout& layout, std::vector<std::vector<KeyRange>> needed)
    : communicator_(c), layout_(layout) {
  for (std::vector<KeyRange>& ranges : needed) needed_.push_back(disjoint(std::move(ranges)));
}

int64_t RowExchange::count(int rank) const {
  int64_t rows = 0;
  for (const KeyRange& range : needed_[static_cast<size_t>(rank)]) rows += range.end - range.begin;
  return rows;
}

std::vector<RowExchange::Run> RowExchange::runs(int owner, int reader) const {
  std::vector<Run> all;
  const std::vector<SequenceLayout::Held> held = layout_.held(owner);
  int64_t row = 0;
  for (const KeyRange& range : needed_[static_cast<size_t>(reader)]) {
    for (const SequenceLayout::Held& h : held) {
      const int64_t begin = std::max(range.begin, h.block.begin), end = std::min(range.end, h.block.end);
      if (begin < end) all.push_back({h.row + begin - h.block.begin, row + begin - range.begin, end - begin});
    }
    row += range.end - range.begin;
  }
  return all;
}

Tensor RowExchange::rows_of(const Tensor& gathered, const KeyRange& range) const {
  if (range.begin >= range.end) return gathered.slice(2, 0, 0);
  int64_t row = 0;
  for (const KeyRange& run : needed_[static_cast<size_t>(communicator_.rank())]) {
    if (range.begin >= run.begin && range.end <= run.end)
      return gathered.slice(2, row + range.begin - run.begin, row + range.end - run.begin);
    row += run.end - run.begin;
  }
  fail("row_exchange", "this rank has not asked for [{}, {})", range.begin, range.end);
}

namespace {

// visit(step's rank `to`, the one `from`) for the other ranks, at the same time on all.
template <class Visit>
void for_each_step(const Communicator& c, Visit visit) {
  const int own = c.rank(), n = c.size();
  for (int step = 1; step < n; ++step) visit((own + step) % n, (own + n - step) % n);
}

int64_t total(const auto& runs) {
  int64_t rows = 0;
  for (const auto& run : runs) rows += run.count;
  return rows;
}

}  // namespace

Tensor RowExchange::gather(const Tensor& own) const {
  const int rank = communicator_.rank();
  Tensor all = empty_rows(own, count(rank));
  for (const Run& run : runs(rank, rank))
    all.slice(2, run.needed_row, run.needed_row + run.count)
        .copy_from(own.slice(2, run.own_row, run.own_row + run.count));
  for_each_step(communicator_, [&](int to, int from) {
    const std::vector<Run> sent_runs = runs(rank, to), received_runs = runs(from, rank);
    Tensor sent = empty_rows(own, total(sent_runs)), received = empty_rows(own, total(received_runs));
    int64_t at = 0;
    for (const Run& run : sent_runs) {
      sent.slice(2, at, at + run.count).copy_from(own.slice(2, run.own_row, run.own_row + run.count));
      at += run.count;
    }
    exchange(communicator_, to, sent, from, received);
    at = 0;
    for (const Run& run : received_runs) {
      all.slice(2, run.needed_row, run.needed_row + run.count).copy_from(received.slice(2, at, at + run.count));
      at += run.count;
    }
  });
  return all;
}

void RowExchange::add_back(const Tensor& gathered, const Tensor& own) const {
  const int rank = communicator_.rank();
  for (const Run& run : runs(rank, rank))
    add_rows(own.slice(2, run.own_row, run.own_row + run.count),
             gathered.slice(2, run.needed_row, run.needed_row + run.count));
  for_each_step(communicator_, [&](int to, int from) {  // what gather() has sent to `to` comes back from there
    const std::vector<Run> sent_runs = runs(from, rank), received_runs = runs(rank, to);
    Tensor sent = empty_rows(own, total(sent_runs)), received = empty_rows(own, total(received_runs));
    int64_t at = 0;
    for (const Run& run : sent_runs) {
      sent.slice(2, at, at + run.count).copy_from(gathered.slice(2, run.needed_row, run.needed_row + run.count));
      at += run.count;
    }
    exchange(communicator_, from, sent, to, received);
    at = 0;
    for (const Run& run : received_runs) {
      add_rows(own.slice(2, run.own_row, run.own_row + run.count), received.slice(2, at, at + run.count));
      at += run.count;
    }
  });
}

}  // namespace qkv::internal
