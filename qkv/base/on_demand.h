// A value that is made when it is first used, by whichever thread comes first.
//
//     OnDemand<Table> table;
//     const Table& t = table.get([] { return Table(4096); });
//
//     table.find()                        // null until then
//
// Without a lock, so that a fork cannot leave one behind: threads that come at the same time may each make a value, and
// all of them get the same one.
#pragma once

#include <atomic>
#include <memory>

namespace qkv {

template <class T>
class OnDemand {
 public:
  OnDemand() = default;
  ~OnDemand() { delete value_.load(); }
  OnDemand(const OnDemand&) = delete;
  OnDemand& operator=(const OnDemand&) = delete;

  template <class Make>
  T& get(Make make) const {
    if (T* made = value_.load(std::memory_order_acquire)) return *made;
    auto mine = std::make_unique<T>(make());
    T* first = nullptr;
    if (value_.compare_exchange_strong(first, mine.get(), std::memory_order_acq_rel)) return *mine.release();
    return *first;
  }
  const T* find() const { return value_.load(std::memory_order_acquire); }
  void reset() { delete value_.exchange(nullptr); }  // not while another thread uses it

 private:
  mutable std::atomic<T*> value_ = nullptr;
};

}  // namespace qkv
