// Where the time of a piece of work goes, op by op: each op of this thread that runs in a ProfileScope leaves a span with
// its name, its time and what it computed and moved.
//
//     Profile profile;
//     { const ProfileScope on(&profile); loss(x).loss.backward(); }
//     for (const Profile::Span& span : profile.spans()) total += span.own_ns;     // all of the time, each part once
//
// An op opens an OpScope at its start; what it calls opens others inside. The backward of an op is a span of the same name
// (record(), variable.h), with the parts that its function opens. Outside a ProfileScope an OpScope costs a look at a pointer
// of the thread, and allocates nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include "qkv/kernel/weight_format.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

// What an op computes, and what it reads and writes; 0: not stated. Each tensor counts once, whatever the caches do.
struct OpWork {
  double flops = 0;  // two for a multiply-add
  double bytes = 0;
  WeightFormat numbers = WeightFormat::f32;  // that products are computed from: f32, bf16 or int8
  Shape shape = {};
  Shape weight = {};  // (N,K) of a product with a weight

  // Of an elementwise op: so many tensors like x are read or written. Counted only where it becomes an OpWork.
  class Moves;
  static Moves moves(const Tensor& x, int tensors);
  // c (M,N) = a (M,K) b (K,N) of f32 tensors, b being a weight (N,K) or its transpose.
  static OpWork product(int64_t M, int64_t N, int64_t K, WeightFormat numbers = WeightFormat::f32) {
    const auto m = static_cast<double>(M), n = static_cast<double>(N), k = static_cast<double>(K);
    return {.flops = 2 * m * n * k,
            .bytes = sizeof(float) * (m * k + n * k + m * n),
            .numbers = numbers,
            .shape = {M, N, K}};
  }
};

class OpWork::Moves {
 public:
  Moves(const Tensor& x, int tensors) : x_(x), tensors_(tensors) {}
  operator OpWork() const {  // NOLINT: implicit on purpose
    return {.bytes = static_cast<double>(tensors_ * x_.numel() * size_of(x_.dtype())), .shape = x_.shape()};
  }

 private:
  const Tensor& x_;
  int tensors_;
};
inline OpWork::Moves OpWork::moves(const Tensor& x, int tensors) { return {x, tensors}; }

enum class OpPass { forward, backward, other };  // other: outside the ops, such as the optimizer

class Profile {
 public:
  struct Span {
    std::string_view name;  // of static lifetime
    OpPass pass = OpPass::forward;
    int parent = -1;                   // index of the span that it is in
    int64_t begin_ns = 0, end_ns = 0;  // since the profile was made
    int64_t own_ns = 0;                // without the spans in it
    OpWork work = {};                  // without that of the spans in it
  };

  const std::vector<Span>& spans() const { return spans_; }  // in the order in which they began
  void count(const OpWork& work);                            // count_work()

 private:
  friend class OpScope;
  using Clock = std::chrono::steady_clock;

  int begin(std::string_view name, const OpWork& work, OpPass pass);
  void end(int span);
  int64_t now_ns() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start_).count();
  }

  std::vector<Span> spans_;
  int open_ = -1;  // the innermost
  Clock::time_point start_ = Clock::now();
};

// The profile, which must outlive it, takes the spans of this thread while it is in scope; with null nothing is recorded.
class ProfileScope {
 public:
  explicit ProfileScope(Profile* profile);
  ~ProfileScope();
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

 private:
  Profile* before_;
};

namespace internal {
extern constinit thread_local Profile* active_profile;
}  // namespace internal

// A span from here to the end of the scope. In the backward of an op, all that is not `other` is backward. `work` is an OpWork,
// or becomes one where a profile is taken.
class OpScope {
 public:
  explicit OpScope(std::string_view name, OpPass pass = OpPass::forward) : profile_(internal::active_profile) {
    if (profile_) [[unlikely]]
      span_ = profile_->begin(name, {}, pass);
  }
  template <class Work = OpWork>
  OpScope(std::string_view name, const Work& work, OpPass pass = OpPass::forward)
      : profile_(internal::active_profile) {
    if (profile_) [[unlikely]]
      span_ = profile_->begin(name, work, pass);
  }
  ~OpScope() {
    if (profile_) [[unlikely]]
      profile_->end(span_);
  }
  OpScope(const OpScope&) = delete;
  OpScope& operator=(const OpScope&) = delete;

 private:
  Profile* profile_;
  int span_ = -1;
};

// What work() returns; it is a span outside the ops.
template <class Work>
auto in_span(std::string_view name, Work&& work) {
  const OpScope scope(name, OpPass::other);
  return work();
}

// In this thread; for work that takes time to count.
inline bool is_profiling() { return internal::active_profile != nullptr; }

// Adds to that of the innermost span, and sets its shapes.
template <class Work = OpWork>
void count_work(const Work& work) {
  if (internal::active_profile) [[unlikely]]
    internal::active_profile->count(work);
}

}  // namespace qkv
