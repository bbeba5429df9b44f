#include "qkv/base/run_ranks.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "qkv/base/error.h"

namespace qkv {
namespace {

constexpr int no_rank = Communicator::no_rank;

// What the ranks share: for each, the half-finished exchange that it waits in.
class Exchanges {
 public:
  explicit Exchanges(int ranks) : pending_(static_cast<size_t>(ranks)) {}
  int ranks() const { return static_cast<int>(pending_.size()); }

  void run(int rank, int to, Bytes sent, int from, MutableBytes received) {
    std::unique_lock lock(mutex_);
    Pending& mine = of(rank);
    mine = {.to = to, .sent = sent, .from = from, .received = received};
    if (to != no_rank) hand_over(rank, to);
    if (from != no_rank) hand_over(from, rank);
    changed_.notify_all();
    fail_if_all_wait();
    changed_.wait(lock, [&] { return !mine.waits() || !reason_.empty(); });
    if (!mine.waits()) return;
    mine = {};
    fail("exchange", "{}", reason_);
  }

  void end(int rank) {
    const std::lock_guard lock(mutex_);
    of(rank).ended = true;
    fail_if_all_wait();
  }

  void end_by_error(int rank, const std::string& what, const std::exception_ptr& error) {
    const std::lock_guard lock(mutex_);
    of(rank).ended = true;
    if (!error_) error_ = error;
    if (reason_.empty()) reason_ = fmt::format("rank {} ended with an error: {}", rank, what);
    changed_.notify_all();
  }

  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  struct Pending {
    int to = no_rank;
    Bytes sent = {};
    int from = no_rank;
    MutableBytes received = {};
    bool ended = false;
    bool waits() const { return to != no_rank || from != no_rank; }
  };
  Pending& of(int rank) { return pending_[static_cast<size_t>(rank)]; }

  // Copies a message if both sides are there.
  void hand_over(int sender, int receiver) {
    Pending &s = of(sender), &r = of(receiver);
    if (s.to != receiver || r.from != sender) return;
    if (s.sent.size() != r.received.size()) {
      if (reason_.empty())
        reason_ = fmt::format("rank {} sends {} bytes to rank {}, which expects {}", sender, s.sent.size(),
                              receiver, r.received.size());
      return;
    }
    std::copy(s.sent.begin(), s.sent.end(), r.received.begin());
    s.to = r.from = no_rank;
  }

  void fail_if_all_wait() {
    if (!reason_.empty()) return;
    std::string who;
    for (int rank = 0; rank < ranks(); ++rank) {
      const Pending& p = of(rank);
      if (!p.ended && !p.waits()) return;
      if (p.to != no_rank) who += fmt::format("{}rank {} sends to {}", who.empty() ? "" : ", ", rank, p.to);
      if (p.from != no_rank)
        who += fmt::format("{}rank {} receives from {}", who.empty() ? "" : ", ", rank, p.from);
    }
    if (who.empty()) return;
    reason_ = "all ranks wait: " + who;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Pending> pending_;
  std::string reason_;  // why no exchange can succeed any more; empty: none
  std::exception_ptr error_;
};

class ThreadRank final : public Communicator {
 public:
  ThreadRank(Exchanges& exchanges, int rank) : exchanges_(exchanges), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return exchanges_.ranks(); }

 private:
  void transfer(int to, Bytes sent, int from, MutableBytes received) override {
    exchanges_.run(rank_, to, sent, from, received);
  }
  Exchanges& exchanges_;
  int rank_;
};

}  // namespace

void run_ranks(int ranks, FunctionRef<void(Communicator&)> body) {
  require(ranks >= 1 && ranks <= 1024, "run_ranks", "the number of ranks must be 1 to 1024, got {}", ranks);
  Exchanges exchanges(ranks);
  const auto run = [&](int rank) {
    ThreadRank communicator(exchanges, rank);
    try {
      body(communicator);
      exchanges.end(rank);
    } catch (const std::exception& e) {
      exchanges.end_by_error(rank, e.what(), std::current_exception());
    } catch (...) {
      exchanges.end_by_error(rank, "an exception of an unknown type", std::current_exception());
    }
  };
  std::vector<std::jthread> others;
  try {
    for (int rank = 1; rank < ranks; ++rank) others.emplace_back(run, rank);
    run(0);
  } catch (const std::system_error& e) {  // the system has no more threads
    exchanges.end_by_error(static_cast<int>(others.size()) + 1, e.what(), std::current_exception());
  }
  others.clear();  // waits for them
  exchanges.rethrow();
}

}  // namespace qkv
