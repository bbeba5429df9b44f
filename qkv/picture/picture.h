// A picture of attention: matrices of weights with the tokens they connect, as a vector graphic, as a page to
// explore, or as numbers for another program. heatmap.h makes pictures; this is what they are.
//
//     Picture picture = heatmap(weights, {.rows = {"the", "cat"}, .columns = {"le", "chat"}});
//     picture.save("attention.svg");            // or .html or .json
//
// Every format is one file that refers to no other: no font, script or style is fetched.
//
//     svg()    for papers: white ground, vector cells, one colour scale for all panels; up to 80 tokens have a
//     label
//              each, of more every second, third, ...
//     html()   for the screen: a map of all layers and heads; the chosen one large, as heat map or as lines between
//              tokens; weights under the pointer or the arrow keys; follows the light or dark setting
//     json()   {"format": "qkv-attention", "version": 1, "title": text, "metadata": {key: text, ...},
//               "groups": [{"title": text, "panels": [
//                  {"title": text, "rows": [query tokens], "columns": [key tokens],
//                   "weights": [[one number per key], one list per query]}, ...]}, ...]}
//              weights have six significant digits; bytes of a token that are not UTF-8 become U+FFFD
//
// Errors name the panel: weights that are not a matrix or not finite (with the two tokens), labels that are not as
// many as the queries or keys.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "qkv/picture/color.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

struct Panel {
  std::string title;
  Tensor weights;                                    // (T, S)
  std::vector<std::string> rows = {}, columns = {};  // T query tokens, S key tokens; none: their numbers
};

// Panels that stand together, line by line.
struct PanelGroup {
  std::string title;
  std::vector<Panel> panels;
  int64_t per_line = 1;
  std::vector<std::string> line_titles = {}, column_titles = {};  // none: the panels' own titles are shown
};

struct PictureContent {
  std::string title;
  std::vector<PanelGroup> groups;
  std::string caption = {};  // what rows and columns are; none: queries and keys
  std::vector<std::pair<std::string, std::string>> metadata = {};  // shown under the title of the page
  bool lines = false;                                              // lines between tokens rather than cells
};

class Picture {
 public:
  explicit Picture(PictureContent content);

  std::string svg() const;
  std::string html() const;
  std::string json() const;
  void save(const std::filesystem::path& path) const;  // by its extension: .svg, .html, .json

  const PictureContent& content() const { return content_; }
  const ColorScale& scale() const { return scale_; }

 private:
  PictureContent content_;  // weights contiguous f32, labels complete
  ColorScale scale_;
};

}  // namespace qkv
