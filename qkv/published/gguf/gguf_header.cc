#include "qkv/published/gguf/gguf_header.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>

#include "qkv/base/error.h"
#include "qkv/base/integers.h"
#include "qkv/base/names.h"
#include "qkv/text/utf8.h"

namespace qkv {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF files are little-endian");

constexpr int64_t longest_name = 65535, max_entries = 1 << 20, header_limit = 1 << 28;
constexpr int array_depth = 4;

constexpr GgufTensorType tensor_types[] = {
    {0, "F32", {1, 4}, WeightFormat::f32, 0},
    {1, "F16", {1, 2}, std::nullopt, 1},
    {30, "BF16", {1, 2}, WeightFormat::bf16, 32},
    {8, "Q8_0", block_of(WeightFormat::q8_0), WeightFormat::q8_0, 7},
    {2, "Q4_0", block_of(WeightFormat::q4_0), WeightFormat::q4_0, 2},
    {3, "Q4_1", block_of(WeightFormat::q4_1), WeightFormat::q4_1, 3},
    {6, "Q5_0", block_of(WeightFormat::q5_0), WeightFormat::q5_0, 8},
    {7, "Q5_1", block_of(WeightFormat::q5_1), WeightFormat::q5_1, 9},
    {10, "Q2_K", block_of(WeightFormat::q2_k), WeightFormat::q2_k, 10},
    {11, "Q3_K", block_of(WeightFormat::q3_k), WeightFormat::q3_k, 11},
    {12, "Q4_K", block_of(WeightFormat::q4_k), WeightFormat::q4_k, 14},
    {13, "Q5_K", block_of(WeightFormat::q5_k), WeightFormat::q5_k, 16},
    {14, "Q6_K", block_of(WeightFormat::q6_k), WeightFormat::q6_k, 18},
    {20, "IQ4_NL", block_of(WeightFormat::iq4_nl), WeightFormat::iq4_nl, 25},
    {23, "IQ4_XS", block_of(WeightFormat::iq4_xs), WeightFormat::iq4_xs, 30},
};
// Types that are named in the message that refuses them.
constexpr std::pair<uint32_t, const char*> other_types[] = {
    {9, "Q8_1"},   {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"}, {19, "IQ1_S"},
    {21, "IQ3_S"}, {22, "IQ2_S"}, {24, "I8"},      {25, "I16"},    {26, "I32"},     {27, "I64"},
    {28, "F64"},   {29, "IQ1_M"}, {34, "TQ1_0"},   {35, "TQ2_0"},  {39, "MXFP4"}};

std::string type_list() {
  std::vector<std::string_view> names;
  for (const GgufTensorType& type : tensor_types) names.push_back(type.name);
  return name_list(names);
}

class Reader {
 public:
  Reader(ReadBytes read, int64_t size, const std::string& file) : read_(read), size_(size), file_(file) {}

  int64_t position() const { return at_; }
  int64_t rest() const { return size_ - at_; }

  void bytes(char* to, int64_t count, const char* what) {
    require<InputError>(count <= rest(), file_, "the file ends within {}", what);
    require<InputError>(at_ + count <= header_limit, file_, "the metadata must be at most {} bytes", header_limit);
    while (count > 0) {
      if (at_ < buffer_begin_ || at_ >= buffer_begin_ + std::ssize(buffer_)) fill();
      const int64_t from = at_ - buffer_begin_, some = std::min(count, std::ssize(buffer_) - from);
      std::memcpy(to, buffer_.data() + from, static_cast<size_t>(some));
      to += some, at_ += some, count -= some;
    }
  }
  template <class T>
  T number(const char* what) {
    T x;
    bytes(reinterpret_cast<char*>(&x), sizeof(T), what);
    return x;
  }
  std::string text(int64_t limit, const char* what) {
    const auto length = number<uint64_t>(what);
    require<InputError>(length <= static_cast<uint64_t>(std::min(limit, rest())), file_,
                        "{} would be {} bytes long, it can be {}", what, length, std::min(limit, rest()));
    std::string out(length, '\0');
    bytes(out.data(), static_cast<int64_t>(length), what);
    return out;
  }
  std::string name(const char* what) {
    std::string out = text(longest_name, what);
    require<InputError>(!out.empty() && !utf8_error(out), file_, "{} {} is empty or not UTF-8", what,
                        quoted_name(out));
    return out;
  }
  // Of entries that take at least so many bytes each.
  uint64_t count(int64_t bytes_each, const char* what) {
    const auto given = number<uint64_t>(what);
    const auto max_count = static_cast<uint64_t>(rest() / bytes_each);
    require<InputError>(given <= max_count, file_, "{} must be at most {} in a file of {} bytes, got {}", what,
                        max_count, size_, given);
    return given;
  }

 private:
  void fill() {
    buffer_.resize(static_cast<size_t>(std::min<int64_t>(1 << 16, size_ - at_)));
    buffer_begin_ = at_;
    read_(at_, std::as_writable_bytes(std::span(buffer_)));
  }

  ReadBytes read_;
  int64_t size_, at_ = 0, buffer_begin_ = 0;
  std::vector<char> buffer_;
  const std::string& file_;
};

GgufType read_type(Reader& from, const std::string& file, const std::string& key) {
  const auto type = from.number<uint32_t>("the type of a value");
  require<InputError>(type < gguf_types, file, "{}: the type of a value must be 0 to {}, got {}", quoted_name(key),
                      gguf_types - 1, type);
  return GgufType{type};
}

GgufArray read_array(Reader& from, const std::string& file, const std::string& key, int depth) {
  require<InputError>(depth <= array_depth, file, "{}: arrays must be nested at most {} deep", quoted_name(key),
                      array_depth);
  GgufArray out;
  out.type = read_type(from, file, key);
  const int size = size_of(out.type);
  out.count = from.count(size > 0 ? size : out.type == GgufType::text ? 8 : 12, "the number of items of an array");
  if (size > 0) {
    out.bytes.resize(out.count * static_cast<uint64_t>(size));
    from.bytes(out.bytes.data(), std::ssize(out.bytes), "an array");
  } else if (out.type == GgufType::text) {
    for (uint64_t i = 0; i < out.count; ++i) out.texts.push_back(from.text(header_limit, "a string of an array"));
  } else {
    for (uint64_t i = 0; i < out.count; ++i) read_array(from, file, key, depth + 1);
  }
  return out;
}

GgufValue read_value(Reader& from, const std::string& file, const std::string& key) {
  const auto as_signed = [&]<class T>(T) { return GgufValue(int64_t{from.number<T>("a value")}); };
  const auto as_unsigned = [&]<class T>(T) { return GgufValue(uint64_t{from.number<T>("a value")}); };
  switch (const GgufType type = read_type(from, file, key)) {
    case GgufType::u8: return as_unsigned(uint8_t{});
    case GgufType::i8: return as_signed(int8_t{});
    case GgufType::u16: return as_unsigned(uint16_t{});
    case GgufType::i16: return as_signed(int16_t{});
    case GgufType::u32: return as_unsigned(uint32_t{});
    case GgufType::i32: return as_signed(int32_t{});
    case GgufType::u64: return as_unsigned(uint64_t{});
    case GgufType::i64: return as_signed(int64_t{});
    case GgufType::f32: return double{from.number<float>("a value")};
    case GgufType::f64: return from.number<double>("a value");
    case GgufType::text: return from.text(header_limit, "a string");
    case GgufType::array: return read_array(from, file, key, 1);
    case GgufType::boolean: {
      const auto given = from.number<uint8_t>("a value");
      require<InputError>(given <= 1, file, "{} of type {} must be 0 or 1, got {}", quoted_name(key), name_of(type),
                          given);
      return given == 1;
    }
  }
  return {};
}

const GgufTensorType& supported_type(uint32_t number, const std::string& file, const std::string& tensor) {
  for (const GgufTensorType& type : tensor_types)
    if (type.number == number) return type;
  std::string name = fmt::format("of type {}, which is not known", number);
  for (const auto& [other, its_name] : other_types)
    if (other == number) name = its_name;
  fail<InputError>(file, "tensor {} is {}; supported are {}", quoted_name(tensor), name, type_list());
}

// The entry, with its begin as an offset.
GgufTensor read_tensor(Reader& from, const std::string& file, int64_t file_bytes) {
  GgufTensor out;
  out.name = from.name("the name of a tensor");
  const auto rank = from.number<uint32_t>("a tensor");
  require<InputError>(rank >= 1 && rank <= 4, file, "tensor {} must have 1 to 4 axes, got {}",
                      quoted_name(out.name), rank);
  int64_t dims[4], numbers = 1;
  for (uint32_t axis = 0; axis < rank; ++axis) {
    const auto length = from.number<uint64_t>("a tensor");
    // A byte holds at most four numbers of any supported type.
    require<InputError>(length > 0 && length <= static_cast<uint64_t>(4 * file_bytes / numbers), file,
                        "tensor {}: an axis of {} does not fit into a file of {} bytes", quoted_name(out.name),
                        length, file_bytes);
    dims[rank - 1 - axis] = static_cast<int64_t>(length);
    numbers *= dims[rank - 1 - axis];
  }
  out.shape = Shape(std::span<const int64_t>(dims, rank));
  out.type = &supported_type(from.number<uint32_t>("a tensor"), file, out.name);
  const WeightBlock block = out.type->block;
  require<InputError>(dims[rank - 1] % block.numbers == 0, file,
                      "tensor {}: the rows of {} must be multiples of {} numbers, got {}", quoted_name(out.name),
                      out.type->name, block.numbers, dims[rank - 1]);
  const auto offset = from.number<uint64_t>("a tensor");
  require<InputError>(offset <= static_cast<uint64_t>(file_bytes), file,
                      "tensor {} begins at {}, beyond the end of the file", quoted_name(out.name), offset);
  out.begin = static_cast<int64_t>(offset);
  out.end = out.begin + numbers / block.numbers * block.bytes;
  return out;
}

int64_t alignment_of(const GgufMetadata& metadata) {
  const int64_t alignment = metadata.integer("general.alignment", gguf_alignment);
  require<InputError>(
      alignment >= 1 && alignment <= 1 << 20 && std::has_single_bit(static_cast<uint64_t>(alignment)),
      metadata.file(), "'general.alignment' must be a power of two up to 2^20, got {}", alignment);
  return alignment;
}

void check_places(std::vector<GgufTensor>& tensors, int64_t data, int64_t alignment, int64_t file_bytes,
                  const std::string& file) {
  std::set<std::string_view> names;
  std::vector<const GgufTensor*> in_order;
  for (GgufTensor& tensor : tensors) {
    require<InputError>(names.insert(tensor.name).second, file, "tensor {} is there twice",
                        quoted_name(tensor.name));
    require<InputError>(tensor.begin % alignment == 0, file,
                        "tensor {} must begin at a multiple of {}, but begins at {}", quoted_name(tensor.name),
                        alignment, tensor.begin);
    tensor.begin += data;
    tensor.end += data;
    require<InputError>(tensor.end <= file_bytes, file, "tensor {} ends at byte {}, the file has {}",
                        quoted_name(tensor.name), tensor.end, file_bytes);
    in_order.push_back(&tensor);
  }
  std::ranges::sort(in_order, {}, [](const GgufTensor* tensor) { return tensor->begin; });
  for (size_t i = 1; i < in_order.size(); ++i)
    require<InputError>(in_order[i - 1]->end <= in_order[i]->begin, file, "tensors {} and {} overlap",
                        quoted_name(in_order[i - 1]->name), quoted_name(in_order[i]->name));
}

}  // namespace

std::span<const GgufTensorType> gguf_tensor_types() { return tensor_types; }

const GgufTensorType& gguf_tensor_type(std::optional<WeightFormat> format) {
  for (const GgufTensorType& type : tensor_types)
    if (type.format == format) return type;
  fail("gguf", "tensors cannot be {}, only {}", name_of(*format), type_list());
}

GgufHeader read_gguf_header(ReadBytes read, int64_t file_bytes, const std::string& file) {
  Reader from(read, file_bytes, file);
  std::string begins(gguf_magic.size(), '\0');
  from.bytes(begins.data(), std::ssize(begins), "its first bytes");
  require<InputError>(begins == gguf_magic, file, "this is not a GGUF file: it must begin with GGUF");
  const auto version = from.number<uint32_t>("the version");
  require<InputError>(
      version < 0x10000 || (version & 0xffff) != 0, file,
      "this GGUF file is big-endian, which is not supported; convert it with gguf_convert_endian.py of "
      "llama.cpp");
  require<InputError>(version == 2 || version == 3, file, "the version of GGUF must be 2 or 3, got {}", version);
  GgufHeader out{.version = version, .metadata = GgufMetadata(file), .tensors = {}};
  const uint64_t tensors = from.count(24, "the number of tensors"), keys = from.count(13, "the number of keys");
  require<InputError>(tensors <= max_entries && keys <= max_entries, file,
                      "there must be at most {} tensors and keys, got {} and {}", max_entries, tensors, keys);
  for (uint64_t i = 0; i < keys; ++i) {
    std::string key = from.name("a key");
    GgufValue value = read_value(from, file, key);
    out.metadata.add(std::move(key), std::move(value));
  }
  for (uint64_t i = 0; i < tensors; ++i) out.tensors.push_back(read_tensor(from, file, file_bytes));
  const int64_t alignment = alignment_of(out.metadata);
  const int64_t data = rounded_up(from.position(), alignment);
  check_places(out.tensors, data, alignment, file_bytes, file);
  return out;
}

}  // namespace qkv
