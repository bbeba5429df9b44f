// A picture of attention: matrices of attention weights with their query and key tokens, as a vector graphic, as
// an interactive page or as JSON. The functions of heatmap.h make pictures.
//
//     Picture picture = heatmap(weights, {.rows = {"the", "cat"}, .columns = {"le", "chat"}});
//     picture.save("attention.svg");            // or .png, .html, .json
//
// Every format is one self-contained file: no font, script or style is fetched.
//
//     svg()    for papers: white background, one color scale for all panels, darker cells for larger weights; up to
//              80 tokens have a label each, of more tokens every second, third, ...; where a panel has more than 6,400
//              cells or the picture more than 25,000, those of a panel are an image (PNG) inside of the file
//     .png     the same as an image, drawn by rsvg-convert where that is installed (svg_to_png.h)
//     html()   for the screen: a map of all layers and heads, with what each head does (head_summary.h) and in the order
//              of that; one head, or the mean, the maximum or an overlay of several, large as a heat map or as lines
//              between tokens, fitted to the window and enlarged at will; weights under the pointer or the arrow keys;
//              follows the light or dark setting. It opens with the head that has the most information.
//     json()   {"format": "qkv-attention", "version": 1, "title": text, "metadata": {key: text, ...},
//               "groups": [{"title": text, "caption": text if the group has one, "panels": [
//                  {"title": text, "rows": [query tokens], "columns": [key tokens],
//                   "weights": [[one number per key], one list per query]}, ...]}, ...]}
//              weights have six significant digits; bytes of a token that are not UTF-8 become U+FFFD
//
// Errors name the panel: weights that are not a matrix or not finite (with the two tokens), and a number of labels
// that is not that of the queries or keys.
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
  std::vector<std::string> rows = {}, columns = {};  // T query tokens, S key tokens; none: their indices
};

// Panels in lines of per_line.
struct PanelGroup {
  std::string title;
  std::vector<Panel> panels;
  int64_t per_line = 1;
  std::vector<std::string> line_titles = {}, column_titles = {};  // none: the titles of the panels are shown
  int64_t heads = 0;         // the panels are attention heads, this many of every layer; 0: they are not
  std::string caption = {};  // what rows and columns are; none: the caption of the picture
};

struct PictureContent {
  std::string title;
  std::vector<PanelGroup> groups;
  std::string caption = {};  // what rows and columns are; none: queries and keys
  std::vector<std::pair<std::string, std::string>> metadata = {};  // shown under the title of the page
  bool lines = false;                                              // lines between tokens instead of cells
  int64_t selected_group = 0;  // the page opens with it; negative: from the last
};

class Picture {
 public:
  explicit Picture(PictureContent content);

  std::string svg() const;
  std::string html() const;
  std::string json() const;
  void save(const std::filesystem::path& path) const;  // by its extension: .svg, .png, .html, .json

  const PictureContent& content() const { return content_; }
  const ColorScale& scale() const { return scale_; }

 private:
  PictureContent content_;  // weights contiguous f32, labels complete
  ColorScale scale_;
};

}  // namespace qkv
