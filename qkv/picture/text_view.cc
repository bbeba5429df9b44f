#include "qkv/picture/text_view.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "qkv/base/error.h"
#include "qkv/base/integers.h"
#include "qkv/picture/label.h"

namespace qkv {
namespace {

constexpr int64_t longest_row_label = 16, longest_column_label = 10, min_columns = 30;
constexpr double first_shade = 0.05;  // of the largest weight
constexpr const char* shades[] = {" ", "\u2591", "\u2592", "\u2593", "\u2588"};

std::string repeated(std::string_view text, int64_t times) {
  std::string out;
  for (int64_t i = 0; i < times; ++i) out += text;
  return out;
}

// The first characters of a label that have at most `room` columns, with an ellipsis if there are more.
std::string cut_label(const std::string& token, int64_t room, int64_t* columns) {
  std::string out;
  int64_t used = 0;
  const std::vector<TerminalCharacter> characters = terminal_characters(label_text(token));
  int64_t all = 0;
  for (const TerminalCharacter& character : characters) all += character.columns;
  for (const TerminalCharacter& character : characters) {
    if (used + character.columns > (all > room ? room - 1 : room)) break;
    out += character.text;
    used += character.columns;
  }
  if (all > room) {
    out += "\u2026";
    ++used;
  }
  *columns = used;
  return out;
}

// The weights that are shown: a head, or the mean of several.
struct Selected {
  std::string title;
  const Panel* tokens = nullptr;
  std::vector<double> weights;
};

Selected selected_weights(const PanelGroup& group, const TextViewOptions& options) {
  const int64_t heads = group.heads, count = std::ssize(group.panels);
  const int64_t layers = heads > 0 ? count / heads : 0;
  const auto check = [&](int64_t index, int64_t size, const char* name) {
    require<UsageError>(index < size, "text_view", "{} {}: {} has {}, counted from 0", name, index,
                        group.title.empty() ? "this picture" : group.title, size);
  };
  check(options.layer, layers, "layer");
  check(options.head, heads, "head");
  Selected out;
  int64_t number = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (heads > 0 && options.layer >= 0 && i / heads != options.layer) continue;
    if (heads > 0 && options.head >= 0 && i % heads != options.head) continue;
    if (heads == 0 && i > 0) break;  // matrices of different things have no mean
    const Panel& panel = group.panels[static_cast<size_t>(i)];
    if (out.tokens == nullptr) {
      out.tokens = &panel;
      out.weights.resize(static_cast<size_t>(panel.weights.numel()));
    }
    size_t at = 0;
    for (const float weight : panel.weights.span<float>()) out.weights[at++] += weight;
    ++number;
  }
  for (double& weight : out.weights) weight /= static_cast<double>(number);
  const std::string of = options.layer < 0 ? (options.head < 0 ? "" : fmt::format("head {} of ", options.head))
                                           : fmt::format("layer {}, ", options.layer);
  const std::string in_layers =
      heads > 0 && number > heads ? fmt::format(" in {} layers", number / heads) : std::string();
  const std::string title = number == 1        ? label_text(out.tokens->title)
                            : options.head < 0 ? fmt::format("{}mean of {} heads{}", of, number, in_layers)
                                               : fmt::format("{}{} layers, mean", of, number);
  out.title = group.title + (group.title.empty() || title.empty() ? "" : ", ") + title;
  return out;
}

// The labels of the keys from top to bottom, over their columns.
std::string header(const std::vector<std::string>& labels, const std::string& indent, int64_t cell) {
  std::vector<std::vector<TerminalCharacter>> columns;
  size_t lines = 0;
  for (const std::string& label : labels) {
    columns.push_back(terminal_characters(label_text(label)));
    if (std::ssize(columns.back()) > longest_column_label) {
      columns.back().resize(longest_column_label - 1);
      columns.back().push_back({"\u2026", 1});
    }
    lines = std::max(lines, columns.back().size());
  }
  std::string out;
  for (size_t line = 0; line < lines; ++line) {
    std::string text = indent;
    for (const auto& column : columns) {
      const size_t above = lines - column.size();
      const TerminalCharacter none = {" ", 1};
      const TerminalCharacter& here = line < above ? none : column[line - above];
      text += here.columns > cell ? "*" : here.text;
      text += repeated(" ", cell - std::min(here.columns, cell));
    }
    out += text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

}  // namespace

std::string text_view(const Picture& picture, const TextViewOptions& options) {
  const std::vector<PanelGroup>& groups = picture.content().groups;
  const int64_t number = options.group < 0 ? picture.content().selected_group : options.group;
  require(number < std::ssize(groups), "text_view", "there is no group {}, there are {}", number, groups.size());
  const PanelGroup& group = groups[static_cast<size_t>(number)];
  const Selected shown = selected_weights(group, options);
  const std::vector<std::string>&rows = shown.tokens->rows, &keys = shown.tokens->columns;

  std::vector<std::string> names;
  std::vector<int64_t> widths;
  int64_t widest = 0;
  for (const std::string& row : rows) {
    names.push_back(cut_label(row, longest_row_label, &widths.emplace_back()));
    widest = std::max(widest, widths.back());
  }
  const int64_t count = std::ssize(keys), room = std::max(options.columns, min_columns) - widest - 1;
  const int64_t cell = 2 * count <= room ? 2 : 1,
                share = ceil_div(count, room);  // columns of a key, keys of a column
  double largest = 0;
  for (const double weight : shown.weights) largest = std::max(largest, std::abs(weight));

  std::string out = shown.title.empty() ? "" : shown.title + "\n\n";
  std::vector<std::string> labels;
  for (int64_t j = 0; j < count; j += share) labels.push_back(keys[static_cast<size_t>(j)]);
  out += header(labels, std::string(static_cast<size_t>(widest + 1), ' '), cell);
  for (size_t i = 0; i < rows.size(); ++i) {
    std::string line = repeated(" ", widest - widths[i]) + names[i] + " ";
    for (int64_t j = 0; j < count; j += share) {
      double weight = 0;
      for (int64_t k = j; k < std::min(count, j + share); ++k)
        weight = std::max(weight, std::abs(shown.weights[i * keys.size() + static_cast<size_t>(k)]));
      const double part = largest > 0 ? weight / largest : 0;
      const int shade = part < first_shade ? 0 : 1 + std::min(3, static_cast<int>(4 * part));
      line += repeated(shades[shade], cell);
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  out += fmt::format("\n{} {:.2g}  {} {:.2g}  {} {:.2g}  {} {:.2g} to {:.2g}", shades[1], first_shade * largest,
                     shades[2], largest / 4, shades[3], largest / 2, shades[4], 0.75 * largest, largest);
  if (share > 1) out += fmt::format("; {} keys a column, the largest is shown", share);
  const std::string& caption = group.caption.empty() ? picture.content().caption : group.caption;
  return out + "\n" + (caption.empty() ? "rows: queries, columns: keys" : label_text(caption)) + "\n";
}

}  // namespace qkv
