#include "qkv/tensor/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <set>

#include "qkv/base/error.h"
#include "qkv/base/integers.h"
#include "qkv/base/json.h"
#include "qkv/base/names.h"
#include "qkv/tensor/half.h"
#include "qkv/tensor/safetensors_checksum.h"

namespace qkv {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

std::string_view file_dtype(DType type) {
  switch (type) {
    case DType::f32: return "F32";
    case DType::bf16: return "BF16";
    case DType::i32: return "I32";
    case DType::u8: return "U8";
  }
  return "?";
}

// Numbers of the file, each converted by a function.
template <class To, class From, class Convert>
Tensor converted(const std::vector<std::byte>& bytes, const Shape& shape, Convert convert) {
  Tensor out = Tensor::empty(shape, dtype_of<To>);
  const std::span<To> to = out.span<To>();
  for (size_t i = 0; i < to.size(); ++i) {
    From x;
    std::memcpy(&x, bytes.data() + i * sizeof(From), sizeof(From));
    to[i] = convert(x);
  }
  return out;
}

void check_for_saving(const std::string& file, const NamedTensors& tensors) {
  std::set<std::string_view> names;
  for (const auto& [name, tensor] : tensors) {
    require(tensor.defined(), "safetensors", "{}: tensor {} is undefined", file, quoted_name(name));
    require(name != safetensors_metadata_key, "safetensors", "{}: no tensor can have the name {}", file, name);
    require(names.insert(name).second, "safetensors", "{}: two tensors have the name {}", file, quoted_name(name));
  }
}

std::string_view bytes_of(const Tensor& contiguous) {
  const int64_t size = size_of(contiguous.dtype());
  return {reinterpret_cast<const char*>(contiguous.storage()->data()) + contiguous.offset() * size,
          static_cast<size_t>(contiguous.numel() * size)};
}

// The length and the JSON, padded with blanks so that the data begins at a multiple of eight.
std::string header_bytes(const std::string& file, const NamedTensors& tensors,
                         const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  header[std::string(safetensors_metadata_key)] = metadata;
  int64_t at = 0;
  for (const auto& [name, tensor] : tensors) {
    const int64_t end = at + tensor.numel() * size_of(tensor.dtype());
    header[name] = {{"dtype", file_dtype(tensor.dtype())},
                    {"shape", std::vector<int64_t>(tensor.shape().begin(), tensor.shape().end())},
                    {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const Error&) {
    fail("safetensors", "{}: a name or metadata is not valid UTF-8", file);
  }
  text.resize(rounded_up(text.size(), 8), ' ');
  require(static_cast<int64_t>(text.size()) <= safetensors_header_limit, "safetensors",
          "{}: the header would be {} bytes long, the format allows {}", file, text.size(),
          safetensors_header_limit);
  std::string length(8, '\0');
  for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(text.size() >> 8 * i & 255);
  return length + text;
}

// The bytes up to the end of the header.
std::string read_header(const RandomAccessFile& file, const std::string& path) {
  const int64_t size = file.size();
  std::string header(static_cast<size_t>(std::min<int64_t>(size, 8)), '\0');
  file.read(0, std::as_writable_bytes(std::span(header)));
  header.resize(static_cast<size_t>(safetensors_header_end(header, size, path)));
  file.read(0, std::as_writable_bytes(std::span(header)));
  return header;
}

}  // namespace

SafetensorsHeader read_safetensors_header(const std::filesystem::path& path) {
  const RandomAccessFile file(path);
  return parse_safetensors_header(read_header(file, path.string()), file.size(), path.string());
}

SafetensorsFile SafetensorsFile::load(const std::filesystem::path& path) {
  SafetensorsFile file;
  file.path_ = path.string();
  file.file_ = std::make_shared<RandomAccessFile>(path);
  const std::string header = read_header(*file.file_, file.path_);
  file.header_ = parse_safetensors_header(header, file.file_->size(), file.path_);
  check_safetensors_checksum(*file.file_, header, file.header_.metadata, file.path_);
  for (size_t i = 0; i < file.header_.entries.size(); ++i) file.index_.emplace(file.header_.entries[i].name, i);
  return file;
}

std::vector<std::string> SafetensorsFile::names() const {
  std::vector<std::string> names;
  for (const SafetensorsEntry& entry : header_.entries) names.push_back(entry.name);
  return names;
}

const SafetensorsEntry& SafetensorsFile::entry(std::string_view name) const {
  const auto found = index_.find(name);
  require<InputError>(found != index_.end(), "safetensors", "{}: no tensor {} among its {}", path_,
                      quoted_name(name), index_.size());
  return header_.entries[found->second];
}

void SafetensorsFile::read(const SafetensorsEntry& e, std::byte* to) const {
  file_->read(header_.data_begin + e.begin, {to, static_cast<size_t>(e.end - e.begin)});
}

void SafetensorsFile::map() { mapping_ = FileMapping::of(*file_); }

// In place if the file is mapped: the header was checked to lie within its bytes.
Tensor SafetensorsFile::get_as(DType type, const SafetensorsEntry& e) const { return get_as(type, e, e.shape); }
Tensor SafetensorsFile::get_as(DType type, const SafetensorsEntry& e, const Shape& shape) const {
  const int64_t at = header_.data_begin + e.begin;
  if (mapping_ && e.end > e.begin && at % size_of(type) == 0) {
    auto* const data = const_cast<std::byte*>(mapping_->bytes().data()) + at;
    const std::shared_ptr<void> owner = std::const_pointer_cast<FileMapping>(mapping_);
    return Tensor::view(Storage::borrow(data, e.end - e.begin, owner, /*writable=*/false), type, {shape.numel()},
                        {1})
        .reshape(shape);
  }
  Tensor out = Tensor::empty(shape, type);
  read(e, out.storage()->data());
  return out;
}

Tensor SafetensorsFile::get(std::string_view name) const {
  const SafetensorsEntry& e = entry(name);
  if (e.dtype == "F32") return get_as(DType::f32, e);
  if (e.dtype == "BF16") return get_as(DType::bf16, e);
  if (e.dtype == "I32") return get_as(DType::i32, e);
  if (e.dtype == "U8" || e.dtype == "BOOL") return get_as(DType::u8, e);
  std::vector<std::byte> data(static_cast<size_t>(e.end - e.begin));
  read(e, data.data());
  if (e.dtype == "F16") return converted<float, uint16_t>(data, e.shape, float_of_half);
  if (e.dtype == "F64")
    return converted<float, double>(data, e.shape, [](double x) { return static_cast<float>(x); });
  if (e.dtype == "I64") {
    return converted<int32_t, int64_t>(data, e.shape, [&](int64_t x) {
      require<InputError>(std::in_range<int32_t>(x), "safetensors", "{}: tensor {}: {} does not fit in 32 bits",
                          path_, quoted_name(name), x);
      return static_cast<int32_t>(x);
    });
  }
  fail<InputError>("safetensors", "{}: tensor {}: cannot read numbers of type {}", path_, quoted_name(name),
                   e.dtype);
}

Tensor SafetensorsFile::bytes(std::string_view name) const {
  const SafetensorsEntry& e = entry(name);
  Shape shape = e.shape;
  const int64_t count = e.shape.numel();
  if (shape.rank() > 0 && count > 0) shape[shape.rank() - 1] *= (e.end - e.begin) / count;
  return get_as(DType::u8, e, shape);
}

const SafetensorsEntry& SafetensorsFile::entry(std::string_view name, const Shape& expected) const {
  const SafetensorsEntry& e = entry(name);
  require<InputError>(e.shape == expected, "safetensors", "{}: tensor {} has shape {}, expected {}", path_,
                      quoted_name(name), e.shape, expected);
  return e;
}

Tensor SafetensorsFile::get(std::string_view name, const Shape& expected) const {
  entry(name, expected);
  return get(name);
}

void save_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata) {
  check_for_saving(path.string(), tensors);
  require(!metadata.contains(std::string(safetensors_checksum_key)), "safetensors",
          "{}: the metadata cannot have the key {}", path.string(), safetensors_checksum_key);
  NamedTensors ordered = tensors;
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) {
    return size_of(a.second.dtype()) > size_of(b.second.dtype());
  });
  for (auto& [name, tensor] : ordered) tensor = tensor.contiguous_copy();
  std::map<std::string, std::string> all = metadata;
  all.emplace(safetensors_checksum_key, checksum_text(0));
  std::string header = header_bytes(path.string(), ordered, all);
  uint32_t sum = crc32(header);
  for (const auto& [name, tensor] : ordered) {
    const std::string_view bytes = bytes_of(tensor);
    sum = crc32_joined(sum, crc32_parallel(bytes), static_cast<int64_t>(bytes.size()));
  }
  set_safetensors_checksum(header, sum);
  FileWriter file(path);
  file.write(header);
  for (const auto& [name, tensor] : ordered) file.write(bytes_of(tensor));
  file.commit();
}

}  // namespace qkv
