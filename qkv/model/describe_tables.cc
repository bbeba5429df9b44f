#include "qkv/model/describe_tables.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "qkv/layer/parameter_groups.h"

namespace qkv {
namespace {

std::string scaled(double x, const std::vector<const char*>& units) {
  size_t unit = 0;
  for (; x >= 1000 && unit + 1 < units.size(); ++unit) x /= 1000;
  if (unit == 0) return fmt::format("{} {}", static_cast<int64_t>(x), units[0]);
  return fmt::format("{:.{}f} {}", x, x < 10 ? 2 : x < 100 ? 1 : 0, units[unit]);
}

}  // namespace

std::string with_commas(int64_t n) {
  if (n < 1000) return std::to_string(n);
  return fmt::format("{},{:03}", with_commas(n / 1000), n % 1000);
}

std::string flops_text(double n) { return scaled(n, {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"}); }
std::string bytes_text(double n) { return scaled(n, {"B", "kB", "MB", "GB", "TB", "PB"}); }

std::string intensity_text(double x) {
  return x < 100 ? fmt::format("{:.{}f}", x, x < 10 ? 2 : 1) : with_commas(std::llround(x));
}

std::string table(const std::vector<TableRow>& rows, const std::vector<bool>& right) {
  std::vector<size_t> widths(right.size(), 0);
  for (const TableRow& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string out;
  for (const TableRow& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i)
      line += right[i] ? fmt::format("  {:>{}}", row[i], widths[i]) : fmt::format("  {:<{}}", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string wrapped(const std::string& text, size_t indent) {
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(begin + describe_columns - indent, text.size());
    if (const size_t space = text.rfind(' ', end); end < text.size() && space != text.npos && space > begin)
      end = space;
    out += std::string(indent, ' ') + text.substr(begin, end - begin) + "\n";
    begin = end + (end < text.size() ? 1 : 0);
  }
  return out;
}

std::string parameter_table(const Module& module) {
  std::vector<ParameterGroup> groups = parameter_groups(module);
  std::erase_if(groups, [](const ParameterGroup& g) { return g.parameters == 0; });  // sinusoidal positions
  std::vector<TableRow> rows = {{"Parameters", "each", "times", "sum"}};
  for (const ParameterGroup& g : groups)
    rows.push_back(
        {g.name, with_commas(g.parameters), std::to_string(g.times), with_commas(g.times * g.parameters)});
  rows.push_back({"all", "", "", with_commas(module.parameter_count())});
  const std::string numbers = table(rows, {false, true, true, true});
  std::string out;
  size_t begin = 0;
  for (size_t row = 0; row < rows.size(); ++row) {
    const size_t end = numbers.find('\n', begin) + 1;
    out += numbers.substr(begin, end - begin);
    if (row > 0 && row <= groups.size()) out += wrapped(groups[row - 1].formula + ": " + groups[row - 1].shapes, 6);
    begin = end;
  }
  return out;
}

std::string flop_table(const std::string& title, const std::vector<FlopCount>& parts, int64_t tokens) {
  std::vector<TableRow> rows = {{title, "FLOPs", "FLOP/byte", "formula"}};
  const auto add = [&](const FlopCount& part) {
    rows.push_back({part.part, flops_text(static_cast<double>(part.flops)),
                    fmt::format("{:.{}f}", part.intensity(tokens), part.intensity(tokens) < 10 ? 2 : 1),
                    part.formula});
  };
  for (const FlopCount& part : parts) add(part);
  if (parts.size() > 1) add(sum_of(parts));
  return table(rows, {false, true, true, false});
}

}  // namespace qkv
