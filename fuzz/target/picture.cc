// A picture of labels and weights from the input: SVG and HTML have no tags but their own and are closed as they
// were opened, JSON is JSON and gives the labels back, and no control character of a label reaches any of them.
#include "qkv/picture/picture.h"

#include <nlohmann/json.hpp>

#include "fuzz/input.h"
#include "fuzz/markup.h"
#include "qkv/text/utf8.h"

namespace {

using namespace qkv;
using nlohmann::json;

constexpr int64_t longest_label = 40;

std::vector<std::string> draw_labels(fuzz::Reader& input, int64_t count) {
  std::vector<std::string> labels;
  for (int64_t i = 0; i < count; ++i) labels.push_back(input.text(longest_label));
  return labels;
}

Panel draw_panel(fuzz::Reader& input) {
  const int64_t T = input.between(1, 6), S = input.between(1, 6);
  Panel panel{input.text(longest_label), Tensor::empty({T, S}), draw_labels(input, T), draw_labels(input, S)};
  const float scale = input.between(0, 5) ? 1.0f / 255 : 1e36f;
  for (float& weight : panel.weights.span<float>()) weight = scale * static_cast<float>(input.between(-20, 235));
  return panel;
}

PictureContent draw_content(fuzz::Reader& input) {
  PictureContent content{.title = input.text(longest_label), .groups = {}};
  content.caption = input.text(longest_label);
  content.lines = input.between(0, 1) == 1;
  for (int64_t n = input.between(0, 2); n > 0; --n)
    content.metadata.emplace_back(input.text(longest_label), input.text(longest_label));
  for (int64_t groups = input.between(1, 2); groups > 0; --groups) {
    PanelGroup group{.title = input.text(longest_label), .panels = {}, .per_line = input.between(1, 3)};
    for (int64_t panels = input.between(1, 3); panels > 0; --panels) group.panels.push_back(draw_panel(input));
    if (input.between(0, 1)) group.line_titles = draw_labels(input, input.between(1, 3));
    if (input.between(0, 1)) group.column_titles = draw_labels(input, group.per_line);
    content.groups.push_back(std::move(group));
  }
  return content;
}

void check_json(const Picture& picture) {
  const json data = json::parse(picture.json());
  for (size_t g = 0; g < data["groups"].size(); ++g)
    for (size_t p = 0; p < data["groups"][g]["panels"].size(); ++p) {
      const Panel& panel = picture.content().groups[g].panels[p];
      const json& shown = data["groups"][g]["panels"][p];
      for (size_t i = 0; i < panel.rows.size(); ++i)
        fuzz::expect(utf8_error(panel.rows[i]) || shown["rows"][i] == panel.rows[i], "another label in JSON");
      fuzz::expect(shown["weights"].size() == static_cast<size_t>(panel.weights.dim(0)), "weights are missing");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Reader input(data, size);
  const Picture picture(draw_content(input));
  fuzz::check_svg(picture.svg());
  fuzz::check_page(picture.html());
  check_json(picture);
  return 0;
}
