// What a rendering may use, and the owner of what it makes. Everything is freed when the rendering ends, so values
// may refer to each other in any way.
//
//     Heap heap(limits);
//     heap.step();                          // throws when the rendering has done too much
//     TextBuilder text(heap);  text.append("a");  Value v = text.finish();
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "qkv/text/chat_template/chat_template.h"
#include "qkv/text/chat_template/scope.h"
#include "qkv/text/chat_template/template_error.h"
#include "qkv/text/chat_template/value.h"

namespace qkv::jinja {

class Heap {
 public:
  explicit Heap(const ChatTemplateLimits& limits) : limits_(limits) {}
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;
  ~Heap() = default;

  // A step is a node of the template, an item of a list, or so much text:
  static constexpr size_t step_bytes = 64;
  void step(uint64_t steps = 1) {
    steps_ += steps;
    if (steps_ > limits_.steps) too_long();
  }
  void step_text(size_t bytes) { step(bytes / step_bytes + 1); }
  // Memory that is about to be used; never given back.
  void take(size_t bytes) {
    check_room(bytes);
    bytes_ += bytes;
  }
  // Before memory is used for a moment.
  void check_room(size_t bytes) const {
    if (bytes > limits_.memory_bytes - bytes_) too_large();
  }

  template <class T>
  T* make(T value) {
    take(sizeof(T) + 16);
    return &std::get<std::deque<T>>(owned_).emplace_back(std::move(value));
  }
  // The memory of `text` and of the items was taken as they were added.
  std::string_view keep(std::string text) { return *make(std::move(text)); }
  Sequence* sequence(Sequence::Kind kind, std::vector<Value> items) {
    return make(Sequence{.kind = kind, .items = std::move(items)});
  }

  // Of evaluation, and of values within values.
  class Deeper {
   public:
    explicit Deeper(Heap& heap) : heap_(heap) {
      if (++heap_.depth_ > heap_.limits_.depth) heap_.too_deep();
    }
    ~Deeper() { --heap_.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    Heap& heap_;
  };

 private:
  [[noreturn]] void too_long() const;
  [[noreturn]] void too_large() const;
  [[noreturn]] void too_deep();

  const ChatTemplateLimits limits_;
  uint64_t steps_ = 0;
  size_t bytes_ = 0;
  int depth_ = 0;
  std::tuple<std::deque<std::string>, std::deque<Sequence>, std::deque<Dict>, std::deque<Namespace>,
             std::deque<Macro>, std::deque<BoundMethod>, std::deque<Loop>, std::deque<Scope>>
      owned_;
};

class TextBuilder {
 public:
  explicit TextBuilder(Heap& heap) : heap_(heap) {}
  void append(std::string_view text) {
    heap_.step_text(text.size());
    heap_.take(text.size());
    text_.append(text);
  }
  void append(size_t count, char c) {
    heap_.take(count);
    text_.append(count, c);
  }
  bool empty() const { return text_.empty(); }
  std::string_view finish() { return heap_.keep(std::move(text_)); }

 private:
  Heap& heap_;
  std::string text_;
};

class ListBuilder {
 public:
  explicit ListBuilder(Heap& heap) : heap_(heap) {}
  void push(const Value& value) {
    heap_.step();
    heap_.take(sizeof(Value));
    items_.push_back(value);
  }
  void push_all(const std::vector<Value>& values) {
    for (const Value& value : values) push(value);
  }
  size_t size() const { return items_.size(); }
  std::vector<Value>& items() { return items_; }
  Value finish(Sequence::Kind kind = Sequence::Kind::list) { return heap_.sequence(kind, std::move(items_)); }

 private:
  Heap& heap_;
  std::vector<Value> items_;
};

}  // namespace qkv::jinja
