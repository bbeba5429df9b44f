#include "qkv/layer/parameter_groups.h"

#include <algorithm>
#include <cctype>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "qkv/base/names.h"

namespace qkv {
namespace {

using Names = std::vector<std::string>;

// The direct contents of a module.
struct Listing final : ModuleContents {
  explicit Listing(const Module& module) { module.list(*this); }
  void parameter(const std::string& name, const Parameter& parameter) override {
    if (parameter.defined()) parameters.emplace_back(name, parameter);
  }
  void child(const std::string& name, const Module& module) override { children.emplace_back(name, &module); }

  std::vector<std::pair<std::string, Parameter>> parameters;
  std::vector<std::pair<std::string, const Module*>> children;
};

int depth(const Module& module) {
  int deepest = 0;
  for (const auto& [name, child] : Listing(module).children) deepest = std::max(deepest, 1 + depth(*child));
  return deepest;
}

// Parts of a sum: equal terms become one with a factor, products of more letters come first.
class Sum {
 public:
  void add(const std::string& term) {
    const auto at = std::find_if(terms_.begin(), terms_.end(), [&](const auto& t) { return t.first == term; });
    if (at == terms_.end())
      terms_.emplace_back(term, 1);
    else
      ++at->second;
  }
  std::string text() const {
    std::vector<std::pair<std::string, int64_t>> sorted = terms_;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return degree(a.first) > degree(b.first); });
    Names parts;
    for (const auto& [term, times] : sorted) parts.push_back(times == 1 ? term : fmt::format("{} {}", times, term));
    return name_list(parts, " + ");
  }

 private:
  static int64_t degree(const std::string& term) {
    return 1 + std::count(term.begin(), term.end(), ' ') + std::count(term.begin(), term.end(), '^');
  }
  std::vector<std::pair<std::string, int64_t>> terms_;
};

// Names of tensors with their shapes; tensors of equal shapes are joined.
class Shapes {
 public:
  void add(const std::string& shape, const std::string& name) {
    const auto at = std::find_if(rows_.begin(), rows_.end(), [&](const auto& row) { return row.first == shape; });
    if (at == rows_.end())
      rows_.push_back({shape, {name}});
    else
      at->second.push_back(name);
  }
  std::string text() const {
    Names parts;
    for (const auto& [shape, names] : rows_)
      parts.push_back(names == Names{""} ? shape : fmt::format("{} {}", name_list(names), shape));
    return name_list(parts);
  }

 private:
  std::vector<std::pair<std::string, Names>> rows_;
};

// "layers.12.norm" -> "layers.*.norm" and 12; -1: there is no index.
std::pair<std::string, int64_t> with_star(const std::string& name) {
  std::string out;
  int64_t layer = -1;
  for (size_t begin = 0; begin < name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    const bool index = std::ranges::all_of(part, [](unsigned char c) { return std::isdigit(c); });
    if (index) layer = std::stoll(part);
    out = join_name(out, index ? "*" : part);
    begin = end + 1;
  }
  return {out, layer};
}

class Groups {
 public:
  void add_module(const std::string& name, const Module& module) {
    const Listing listing(module);
    if (depth(module) <= 1) return add_group(name, listing);
    for (const auto& [own, parameter] : listing.parameters)
      append(
          {join_name(name, own), to_string(parameter.shape()), parameter.formula(), parameter.shape().numel(), 1});
    for (const auto& [own, child] : listing.children) add_module(join_name(name, own), *child);
  }

  std::vector<ParameterGroup> take() {
    std::vector<ParameterGroup> out;
    for (const auto& [group, layers] : groups_) {
      const auto is_named_alike = [&, name = group.name](const auto& other) { return other.first.name == name; };
      out.push_back(group);
      if (std::ranges::count_if(groups_, is_named_alike) > 1 && layers.front() >= 0)
        out.back().name.replace(group.name.find('*'), 1, index_ranges(layers));
    }
    return out;
  }

 private:
  void add_group(const std::string& name, const Listing& listing) {
    Sum formula;
    Shapes shapes;
    int64_t count = 0;
    const auto add = [&](const std::string& own, const Parameter& parameter) {
      formula.add(parameter.formula());
      count += parameter.shape().numel();
      shapes.add(to_string(parameter.shape()), own);
    };
    for (const auto& [own, parameter] : listing.parameters) add(own, parameter);
    for (const auto& [child_name, child] : listing.children) {
      const Listing inner(*child);
      if (inner.parameters.empty()) continue;
      if (inner.parameters.front().first != "weight") {  // a mechanism; else a Linear
        for (const auto& [own, parameter] : inner.parameters) add(join_name(child_name, own), parameter);
        continue;
      }
      Names parts;  // weight and bias, if there is one
      for (const auto& [own, parameter] : inner.parameters) {
        formula.add(parameter.formula());
        count += parameter.shape().numel();
        parts.push_back(to_string(parameter.shape()));
      }
      shapes.add(name_list(parts, " + "), child_name);
    }
    append({name, shapes.text(), formula.text(), count, 1});
  }

  void append(ParameterGroup group) {
    int64_t layer = 0;
    std::tie(group.name, layer) = with_star(group.name);
    for (auto& [other, layers] : groups_)
      if (other.name == group.name && other.shapes == group.shapes) {
        ++other.times;
        layers.push_back(layer);
        return;
      }
    groups_.emplace_back(std::move(group), std::vector{layer});
  }

  std::vector<std::pair<ParameterGroup, std::vector<int64_t>>> groups_;  // with the layers of each
};

}  // namespace

std::string index_ranges(std::span<const int64_t> indices) {
  std::string text;
  size_t ranges = 0;
  for (size_t begin = 0; begin < indices.size();) {
    size_t end = begin + 1;
    while (end < indices.size() && indices[end] == indices[end - 1] + 1) ++end;
    if (++ranges > 3) return text + ",...";
    text += fmt::format("{}{}", text.empty() ? "" : ",", indices[begin]);
    if (end - begin > 1) text += fmt::format("-{}", indices[end - 1]);
    begin = end;
  }
  return text;
}

std::vector<ParameterGroup> parameter_groups(const Module& module) {
  Groups groups;
  groups.add_module("", module);
  return groups.take();
}

}  // namespace qkv
