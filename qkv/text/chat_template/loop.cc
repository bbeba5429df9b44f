// The loop object: what it knows of the items before and after the current one. Items ahead are looked at only when they
// are asked for, since the condition of the loop may depend on what its body does before.
#include <algorithm>

#include "qkv/text/chat_template/attributes.h"
#include "qkv/text/chat_template/operators.h"
#include "qkv/text/chat_template/template_error.h"

namespace qkv::jinja {
namespace {

// Puts the next item ahead; false: there is none.
bool look_ahead(Heap& heap, Loop& loop) {
  while (loop.next < loop.items.size()) {
    heap.step();
    const Value item = loop.items[loop.next++];
    if (loop.condition && !loop.condition(item)) continue;
    heap.take(sizeof(Value));
    loop.ahead.push_back(item);
    return true;
  }
  return false;
}

bool has_next(Heap& heap, Loop& loop) { return !loop.ahead.empty() || look_ahead(heap, loop); }

int64_t length(Heap& heap, Loop& loop) {
  if (!loop.condition) return std::ssize(loop.items);
  while (look_ahead(heap, loop)) {
  }
  return loop.index0 + 1 + std::ssize(loop.ahead);
}

Value no_item(std::string_view name) { return Undefined{.name = name, .of = "loop"}; }

}  // namespace

bool advance(Heap& heap, Loop& loop) {
  if (!has_next(heap, loop)) return false;
  loop.previous = loop.current;
  loop.current = loop.ahead.front();
  loop.ahead.pop_front();
  ++loop.index0;
  return true;
}

std::optional<Value> loop_attribute(Heap& heap, Loop& loop, std::string_view name) {
  if (name == "index") return loop.index0 + 1;
  if (name == "index0") return loop.index0;
  if (name == "first") return loop.index0 == 0;
  if (name == "last") return !has_next(heap, loop);
  if (name == "length") return length(heap, loop);
  if (name == "revindex") return length(heap, loop) - loop.index0;
  if (name == "revindex0") return length(heap, loop) - loop.index0 - 1;
  if (name == "depth") return int64_t{1};
  if (name == "depth0") return int64_t{0};
  if (name == "previtem") return loop.index0 == 0 ? no_item(name) : loop.previous;
  if (name == "nextitem") return has_next(heap, loop) ? loop.ahead.front() : no_item(name);
  return {};
}

bool is_loop_method(std::string_view name) { return name == "cycle" || name == "changed"; }

Value call_loop_method(Heap& heap, Loop& loop, std::string_view name, const Arguments& arguments) {
  const std::vector<Value>& values = arguments.positional;
  if (name == "cycle") {
    if (values.empty()) template_error("loop.cycle() needs items");
    return values[static_cast<size_t>(loop.index0) % values.size()];
  }
  const auto same = [&](const Value& a, const Value& b) { return equal(heap, a, b); };
  if (loop.has_changed &&
      std::equal(values.begin(), values.end(), loop.last_changed.begin(), loop.last_changed.end(), same))
    return false;
  loop.last_changed = values;
  loop.has_changed = true;
  return true;
}

}  // namespace qkv::jinja
