#include "qkv/published/gguf/gguf_outline.h"

#include "qkv/base/error.h"
#include "qkv/base/names.h"

namespace qkv {
namespace {

template <class Map>
const auto& found_in(const Map& map, std::string_view tensor, const std::string& file) {
  const auto found = map.find(tensor);
  require<InputError>(found != map.end(), file, "there is no tensor {}", quoted_name(tensor));
  return found->second;
}

}  // namespace

const Shape& GgufOutline::shape(std::string_view tensor) const { return found_in(shapes, tensor, metadata.file()); }

const std::vector<double>& GgufOutline::numbers(std::string_view tensor) const {
  return found_in(factors, tensor, metadata.file());
}

}  // namespace qkv
