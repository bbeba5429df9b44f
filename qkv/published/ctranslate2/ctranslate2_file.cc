#include "qkv/published/ctranslate2/ctranslate2_file.h"

#include <cstring>

#include <fmt/format.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/names.h"
#include "qkv/tensor/half.h"

namespace qkv {
namespace {

class Reader {
 public:
  Reader(std::string_view bytes, std::string where) : rest_(bytes), where_(std::move(where)) {}

  std::string_view take(size_t size) {
    require<InputError>(size <= rest_.size(), where_, "the file ends within a variable: {} bytes are missing",
                        size - rest_.size());
    const std::string_view part = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return part;
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  // Ends in a NUL, which is counted in its length.
  std::string text() {
    const std::string_view bytes = take(number<uint16_t>());
    require<InputError>(!bytes.empty() && bytes.back() == '\0', where_, "a name does not end in a NUL");
    return std::string(bytes.substr(0, bytes.size() - 1));
  }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  std::string where_;
};

enum class Type : uint8_t { f32, i8, i16, i32, f16, bf16 };
constexpr size_t sizes[] = {4, 1, 2, 4, 2, 2};

struct StoredVariable {
  Type type;
  std::vector<int64_t> shape;
  std::string_view data;

  int64_t count() const { return static_cast<int64_t>(data.size() / sizes[static_cast<size_t>(type)]); }
  float at(int64_t i) const {
    const auto read = [&]<class T>(T value) {
      std::memcpy(&value, data.data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
      return value;
    };
    switch (type) {
      case Type::f32: return read(0.0f);
      case Type::i8: return read(int8_t{0});
      case Type::i16: return read(int16_t{0});
      case Type::i32: return static_cast<float>(read(int32_t{0}));
      case Type::f16: return float_of_half(read(uint16_t{0}));
      case Type::bf16: return std::bit_cast<float>(static_cast<uint32_t>(read(uint16_t{0})) << 16);
    }
    return 0;
  }
};

StoredVariable read_variable(Reader& reader, uint32_t version, const std::string& name, const std::string& where) {
  StoredVariable v{};
  const auto rank = reader.number<uint8_t>();
  int64_t count = 1;
  for (int i = 0; i < rank; ++i) {
    v.shape.push_back(reader.number<uint32_t>());
    const bool fits =
        v.shape.size() <= Shape::max_rank && v.shape.back() > 0 && count <= (int64_t{1} << 32) / v.shape.back();
    require<InputError>(fits, where, "variable {} has the sizes {}, must have 1 to 2^32 numbers on at most {} axes",
                        quoted_name(name), fmt::join(v.shape, ", "), Shape::max_rank);
    count *= v.shape.back();
  }
  uint64_t bytes = 0;
  if (version >= 4) {
    const auto type = reader.number<uint8_t>();
    require<InputError>(type < std::size(sizes), where, "the type of variable {} must be 0 to 5, got {}",
                        quoted_name(name), type);
    v.type = static_cast<Type>(type);
    bytes = reader.number<uint32_t>();
  } else {
    const auto item = reader.number<uint8_t>();
    require<InputError>(item == 4 || item == 2 || item == 1, where, "variable {} has items of {} bytes",
                        quoted_name(name), item);
    v.type = item == 4 ? Type::f32 : item == 2 ? Type::i16 : Type::i8;
    bytes = uint64_t{reader.number<uint32_t>()} * item;
  }
  v.data = reader.take(bytes);
  require<InputError>(bytes == static_cast<uint64_t>(count) * sizes[static_cast<size_t>(v.type)], where,
                      "variable {} has {} bytes for {} numbers", quoted_name(name), bytes, count);
  return v;
}

// The values divided by their scales: one scale for each row, or one for all rows.
Tensor tensor_of(const StoredVariable& v, const StoredVariable* scale, const std::string& name,
                 const std::string& where) {
  Tensor out = Tensor::empty(Shape(v.shape));
  const int64_t rows = v.shape[0], width = v.count() / rows;
  const bool is_quantized = v.type == Type::i8 || v.type == Type::i16;
  require<InputError>(!scale || scale->count() == 1 || scale->count() == rows, where,
                      "variable {} has {} rows and {} scales", quoted_name(name), rows, scale ? scale->count() : 0);
  require<InputError>(!is_quantized || scale || v.type == Type::i16, where, "variable {} of 8 bits has no scale",
                      quoted_name(name));
  float* to = out.data<float>();
  for (int64_t r = 0; r < rows; ++r) {
    const float divisor = !is_quantized ? 1 : !scale ? 1000 : scale->at(scale->count() == 1 ? 0 : r);
    for (int64_t c = 0; c < width; ++c) *to++ = v.at(r * width + c) / divisor;
  }
  return out;
}

}  // namespace

CTranslate2File CTranslate2File::load(const std::filesystem::path& path) {
  const std::string bytes = read_file(path);
  CTranslate2File out{.where = path.string(), .spec = "", .bytes = std::ssize(bytes)};
  Reader reader(bytes, out.where);
  const auto version = reader.number<uint32_t>();
  require<InputError>(version >= 1 && version <= 6, out.where, "the binary version must be 1 to 6, got {}",
                      version);
  if (version >= 2) {
    out.spec = reader.text();
    out.revision = reader.number<uint32_t>();
  }
  std::map<std::string, StoredVariable> variables;
  for (auto left = reader.number<uint32_t>(); left > 0; --left) {
    const std::string name = reader.text();
    const StoredVariable variable = read_variable(reader, version, name, out.where);
    require<InputError>(variables.emplace(name, variable).second, out.where, "variable {} occurs twice",
                        quoted_name(name));
  }
  if (version >= 3)
    for (auto left = reader.number<uint32_t>(); left > 0; --left) {
      const std::string alias = reader.text(), name = reader.text();
      const auto found = variables.find(name);
      require<InputError>(found != variables.end() && !variables.contains(alias), out.where,
                          "alias {} refers to variable {}, which is not in the file", quoted_name(alias),
                          quoted_name(name));
      out.aliases[alias] = name;
    }
  require<InputError>(reader.empty(), out.where, "there are bytes after the last variable");
  for (const auto& [name, v] : variables) {
    if (v.shape.empty()) {
      out.settings[name] = v.at(0);
      continue;
    }
    require<InputError>(!name.ends_with("_zero"), out.where, "weights quantised by AWQ are not supported: {}",
                        quoted_name(name));
    if (name.ends_with("_scale") && variables.contains(name.substr(0, name.size() - 6))) continue;
    const auto scale = variables.find(name + "_scale");
    // A single scale for all rows is a number of rank 0.
    out.tensors[name] = tensor_of(v, scale == variables.end() ? nullptr : &scale->second, name, out.where);
  }
  for (auto alias = out.aliases.begin(); alias != out.aliases.end();) {
    if (const auto found = out.tensors.find(alias->second); found != out.tensors.end()) {
      out.tensors[alias->first] = found->second;
      ++alias;
    } else {
      alias = out.aliases.erase(alias);  // of a scale or a setting
    }
  }
  return out;
}

}  // namespace qkv
