// For tests of pictures: weights, tokens, and the data that a page draws.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "qkv/base/random.h"
#include "qkv/tensor/tensor.h"

namespace qkv::picture_test {

inline Tensor random_weights(const Shape& shape) {
  Tensor x = Tensor::empty(shape);
  Random random(11);
  for (float& w : x.span<float>()) w = static_cast<float>(random.uniform());
  return x;
}

inline int64_t count(const std::string& text, const std::string& part) {
  int64_t n = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

// The data that the page draws.
inline nlohmann::json page_data(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const size_t at = page.find(begin) + begin.size();
  return nlohmann::json::parse(page.substr(at, page.find("</script>", at) - at));
}

inline const std::vector<std::string> odd_tokens = {"</script><b>&\"'", "a\tb\x01",
                                                    "\u202e\u05e9\u05dc\u05d5\u05dd", "\xff\xe2",
                                                    "\u2581internationalisation of everything there is"};

}  // namespace qkv::picture_test
