#include "qkv/text/chat_template/functions.h"

#include <array>

#include <fmt/format.h>

#include "qkv/base/names.h"
#include "qkv/text/chat_template/operators.h"
#include "qkv/text/chat_template/show.h"
#include "qkv/text/chat_template/template_error.h"

namespace qkv::jinja {
namespace {

constexpr int64_t max_range = 100'000;  // that of Jinja's sandbox

Value range(const FunctionCall& c) {
  const std::vector<Value>& given = c.arguments.positional;
  if (given.empty() || given.size() > 3 || !c.arguments.keywords.empty())
    template_error("range: takes 1 to 3 integers, got {}", given.size());
  const int64_t start = given.size() > 1 ? integer_of(given[0], "the start of range") : 0;
  const int64_t stop = integer_of(given[given.size() > 1 ? 1 : 0], "the end of range");
  const int64_t step = given.size() > 2 ? integer_of(given[2], "the step of range") : 1;
  if (step == 0) template_error("range: the step must not be 0");
  ListBuilder out(c.heap);
  for (int64_t i = start; step > 0 ? i < stop : i > stop;) {
    if (static_cast<int64_t>(out.size()) == max_range) template_error("range: has more than {} numbers", max_range);
    out.push(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  const std::string shown =
      step == 1 ? fmt::format("range({}, {})", start, stop) : fmt::format("range({}, {}, {})", start, stop, step);
  c.heap.take(shown.size());
  return c.heap.make(
      Sequence{.kind = Sequence::Kind::range, .items = std::move(out.items()), .shown = c.heap.keep(shown)});
}

// dict(pairs or dict, name=value, ...)
Dict dict_of(const FunctionCall& c, std::string_view function) {
  Dict out;
  if (c.arguments.positional.size() > 1)
    template_error("{}: takes at most one argument by position, got {}", function, c.arguments.positional.size());
  if (!c.arguments.positional.empty()) {
    const Value& from = c.arguments.positional.front();
    require_defined(from);
    if (const auto* dict = std::get_if<Dict*>(&from)) {
      for (const auto& [key, value] : (*dict)->items) set_item(c.heap, out, key, value);
    } else {
      for (const Value& item : items_of(c.heap, from)) {
        const std::vector<Value> pair = items_of(c.heap, item);
        if (pair.size() != 2) template_error("{}: needs pairs, got {} items", function, pair.size());
        set_item(c.heap, out, pair[0], pair[1]);
      }
    }
  }
  for (const auto& [name, value] : c.arguments.keywords) set_item(c.heap, out, name, value);
  return out;
}

Value dict(const FunctionCall& c) { return c.heap.make(dict_of(c, "dict")); }

Value make_namespace(const FunctionCall& c) { return c.heap.make(Namespace{dict_of(c, "namespace")}); }

Value raise_exception(const FunctionCall& c) {
  constexpr std::array<std::string_view, 1> parameters = {"message"};
  const Bound given = match_arguments("raise_exception", c.arguments, parameters);
  template_error("the template refuses the conversation: {}", one_line(text_of(c.heap, given.required(0)), 400));
}

Value strftime_now(const FunctionCall& c) {
  constexpr std::array<std::string_view, 1> parameters = {"format"};
  const std::string_view format =
      text_value(match_arguments("strftime_now", c.arguments, parameters).required(0), "the format");
  constexpr std::string_view known = "aAbBcdDeFgGhHIjmMnprRStTuUVwWxXyYzZ%";
  for (size_t at = 0; (at = format.find('%', at)) != std::string_view::npos; at += 2)
    if (at + 1 >= format.size() || known.find(format[at + 1]) == std::string_view::npos)
      template_error("strftime_now: the format has '%' without one of {}", known);
  std::tm parts{};
  if (!localtime_r(&c.now, &parts)) template_error("strftime_now: there is no local time");
  TextBuilder out(c.heap);
  for (size_t at = 0; at < format.size();) {
    const size_t percent = std::min(format.find('%', at), format.size());
    out.append(format.substr(at, percent - at));
    if (percent < format.size()) {
      const std::array<char, 3> one = {'%', format[percent + 1], '\0'};
      std::array<char, 200> buffer = {};
      out.append(std::string_view(buffer.data(), std::strftime(buffer.data(), buffer.size(), one.data(), &parts)));
    }
    at = percent + 2;
  }
  return out.finish();
}

constexpr std::array function_table = {
    Function{"range", range},
    Function{"dict", dict},
    Function{"namespace", make_namespace},
    Function{"raise_exception", raise_exception},
    Function{"strftime_now", strftime_now},
};

}  // namespace

std::span<const Function> functions() { return function_table; }

}  // namespace qkv::jinja
