// The KV cache of a self-attention layer for incremental decoding.
//
//     AttentionCache cache;
//     Variable y = layer.extend(x, cache, pass);    // x (B,1,C): the next position, or several
//     cache.reorder({0, 0, 2});                     // as KeyValueCache
//     cache.truncate(12);
//
// A mechanism may keep more of the positions so far, or something else instead of keys and values:
//
//     auto& past = cache.of<MultiTokenCache>(*this, options);       // made with these arguments at the first call
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "qkv/attention/cache.h"
#include "qkv/base/error.h"

namespace qkv {

class AttentionMechanism;

class AttentionCache {
 public:
  AttentionCache() = default;
  explicit AttentionCache(CacheFormat format) : keys(format) {}

  KeyValueCache keys;

  // What the mechanism keeps: anything that can be copied and has reorder(), and truncate() if it can go back. Always the
  // same type for a mechanism.
  template <class T, class... Arguments>
  T& of(const AttentionMechanism& mechanism, const Arguments&... arguments) {
    for (State& state : states_)
      if (state.owner == &mechanism) return static_cast<Kept<T>&>(*state.kept).value;
    auto made = std::make_unique<Kept<T>>(T(arguments...));
    T& value = made->value;
    states_.emplace_back(&mechanism, std::move(made));
    return value;
  }

  int64_t length() const { return length_; }
  void advance(int64_t positions) { length_ += positions; }  // after a mechanism or `keys` got them
  void reorder(std::span<const int64_t> source) {
    keys.reorder(source);
    for (State& state : states_) state.kept->reorder(source);
  }
  // Whether truncate() may keep some of the positions.
  bool can_truncate() const {
    return std::all_of(states_.begin(), states_.end(), [](const State& s) { return s.kept->can_truncate(); });
  }
  // Whether several positions can be added with the bits of one by one: not while a mechanism keeps something of each.
  bool takes_several() const {
    return std::all_of(states_.begin(), states_.end(), [&](const State& s) { return s.kept->length() < length_; });
  }
  // The first positions stay.
  void truncate(int64_t length) {
    if (length == length_) return;
    require(length == 0 || can_truncate(), "AttentionCache", "{} of {} positions cannot be kept", length, length_);
    keys.truncate(std::min(length, keys.length()));
    if (length == 0) states_.clear();
    for (State& state : states_) state.kept->truncate(length);
    length_ = length;
  }

 private:
  struct AnyKept {
    virtual ~AnyKept() = default;
    virtual std::unique_ptr<AnyKept> copy() const = 0;
    virtual void reorder(std::span<const int64_t> source) = 0;
    virtual bool can_truncate() const = 0;
    virtual int64_t length() const = 0;  // unlimited if it does not say
    virtual void truncate(int64_t length) = 0;
  };
  template <class T>
  struct Kept final : AnyKept {
    T value;
    explicit Kept(T x) : value(std::move(x)) {}
    std::unique_ptr<AnyKept> copy() const override { return std::make_unique<Kept>(value); }
    void reorder(std::span<const int64_t> source) override { value.reorder(source); }
    // It may have fewer positions than the cache: only the global ones.
    static constexpr bool has_truncate = requires(T x) { x.truncate(x.length()); };
    bool can_truncate() const override { return has_truncate; }
    int64_t length() const override {
      if constexpr (has_truncate) return value.length();
      return std::numeric_limits<int64_t>::max();
    }
    void truncate(int64_t length) override {
      if constexpr (has_truncate) value.truncate(std::min(length, value.length()));
    }
  };
  struct State {
    const AttentionMechanism* owner;
    std::unique_ptr<AnyKept> kept;
    State(const AttentionMechanism* o, std::unique_ptr<AnyKept> k) : owner(o), kept(std::move(k)) {}
    State(const State& other) : State(other.owner, other.kept->copy()) {}
    State(State&&) = default;
    State& operator=(const State& other) { return *this = State(other); }
    State& operator=(State&&) = default;
    ~State() = default;
  };

  std::vector<State> states_;
  int64_t length_ = 0;
};

}  // namespace qkv
