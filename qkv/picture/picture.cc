#include "qkv/picture/picture.h"

#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/json.h"
#include "qkv/picture/label.h"
#include "qkv/picture/page.h"
#include "qkv/picture/svg.h"
#include "qkv/picture/svg_to_png.h"

namespace qkv {
namespace {

std::string name_of(const Panel& panel) {
  return panel.title.empty() ? "weights" : fmt::format("'{}'", label_text(panel.title));
}

void check_labels(const Panel& panel, std::vector<std::string>& labels, int axis) {
  const int64_t count = panel.weights.dim(axis);
  if (labels.empty())
    for (int64_t i = 0; i < count; ++i) labels.push_back(fmt::to_string(i));
  require(static_cast<int64_t>(labels.size()) == count, "picture", "{}: {} {} for weights of shape {}, expected {}",
          name_of(panel), labels.size(), axis == 0 ? "query tokens (rows)" : "key tokens (columns)",
          describe("TS", panel.weights.shape()), count);
}

// Makes weights and labels complete and extends the range of the weights.
void prepare(Panel& panel, float& smallest, float& largest) {
  require(panel.weights.defined() && panel.weights.rank() == 2 && panel.weights.numel() > 0, "picture",
          "{}: expected a matrix (T, S), got {}", name_of(panel),
          panel.weights.defined() ? to_string(panel.weights.shape()) : "none");
  check_labels(panel, panel.rows, 0);
  check_labels(panel, panel.columns, 1);
  panel.weights = panel.weights.to(DType::f32).contiguous_copy();
  const int64_t keys = panel.weights.dim(1);
  int64_t at = 0;
  for (const float weight : std::as_const(panel.weights).span<float>()) {
    require(std::isfinite(weight), "picture", "{}: weight {} at query {} '{}', key {} '{}'", name_of(panel), weight,
            at / keys, label_text(panel.rows[static_cast<size_t>(at / keys)]), at % keys,
            label_text(panel.columns[static_cast<size_t>(at % keys)]));
    smallest = std::min(smallest, weight);
    largest = std::max(largest, weight);
    ++at;
  }
}

std::string json_text(const std::string& text) { return Json(text).dump({.replace_invalid = true}); }

std::string json_list(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) out += (out.size() > 1 ? ", " : "") + json_text(text);
  return out + "]";
}

std::string json_matrix(const Tensor& weights) {
  const std::span<const float> numbers = weights.span<float>();
  const size_t keys = static_cast<size_t>(weights.dim(1));
  std::string out = "[";
  for (size_t i = 0; i < numbers.size(); i += keys)
    out += fmt::format("{}[{:.6g}]", i ? ",\n          " : "", fmt::join(numbers.subspan(i, keys), ", "));
  return out + "]";
}

}  // namespace

Picture::Picture(PictureContent content) : content_(std::move(content)) {
  float smallest = 0, largest = 0;
  size_t panels = 0;
  for (PanelGroup& group : content_.groups) {
    require(group.per_line >= 1, "picture", "a group needs at least one panel per line, got {}", group.per_line);
    require(group.heads >= 0, "picture", "heads must be at least 0, got {}", group.heads);
    const size_t across = std::min(static_cast<size_t>(group.per_line), group.panels.size());
    require(group.column_titles.empty() || group.column_titles.size() >= across, "picture",
            "{} column titles for {} panels per line", group.column_titles.size(), across);
    for (Panel& panel : group.panels) prepare(panel, smallest, largest);
    panels += group.panels.size();
  }
  require(panels > 0, "picture", "there must be at least one panel");
  const auto groups = static_cast<int64_t>(content_.groups.size());
  int64_t& selected = content_.selected_group;
  require(selected >= -groups && selected < groups, "picture", "selected_group must be {} to {}, got {}", -groups,
          groups - 1, selected);
  if (selected < 0) selected += groups;
  scale_ = ColorScale::of(smallest, largest);
}

std::string Picture::svg() const { return picture_svg(content_, scale_); }

std::string Picture::html() const { return picture_page(content_, scale_); }

std::string Picture::json() const {
  std::string out = R"({"format": "qkv-attention", "version": 1, "title": )" + json_text(content_.title);
  out += ",\n \"metadata\": {";
  std::string_view comma = "";
  for (const auto& [key, value] : content_.metadata) {
    out += fmt::format("{}{}: {}", comma, json_text(key), json_text(value));
    comma = ", ";
  }
  out += "},\n \"groups\": [";
  comma = "\n  ";
  for (const PanelGroup& group : content_.groups) {
    const std::string caption = group.caption.empty() ? "" : "\"caption\": " + json_text(group.caption) + ", ";
    out += fmt::format("{}{{\"title\": {}, {}\"panels\": [", comma, json_text(group.title), caption);
    comma = ",\n  ";
    std::string_view panel_comma = "\n    ";
    for (const Panel& panel : group.panels) {
      out += fmt::format("{}{{\"title\": {},\n     \"rows\": {},\n     \"columns\": {},\n     \"weights\": {}}}",
                         panel_comma, json_text(panel.title), json_list(panel.rows), json_list(panel.columns),
                         json_matrix(panel.weights));
      panel_comma = ",\n    ";
    }
    out += "]}";
  }
  return out + "]}\n";
}

void Picture::save(const std::filesystem::path& path) const {
  const std::filesystem::path extension = path.extension();
  if (extension == ".svg") return write_file(path, svg());
  if (extension == ".html") return write_file(path, html());
  if (extension == ".json") return write_file(path, json());
  if (extension == ".png") return write_file(path, svg_to_png(svg()));
  fail<UsageError>("picture", "{}: the name must end in .svg, .png, .html or .json", path.string());
}

}  // namespace qkv
