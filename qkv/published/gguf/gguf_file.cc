#include "qkv/published/gguf/gguf_file.h"

#include <cstring>

#include "qkv/base/error.h"
#include "qkv/base/names.h"
#include "qkv/tensor/half.h"

namespace qkv {
namespace {

// A tensor of the bytes, where they are.
Tensor in_place(const std::shared_ptr<const std::byte>& bytes, int64_t size, DType type, const Shape& shape) {
  auto* const data = const_cast<std::byte*>(bytes.get());
  const std::shared_ptr<void> owner(bytes, data);
  return Tensor::view(Storage::borrow(data, size, owner, /*writable=*/false), type, {shape.numel()}, {1})
      .reshape(shape);
}

Tensor from_half(const std::byte* bytes, const Shape& shape) {
  Tensor out = Tensor::empty(shape);
  const std::span<float> to = out.span<float>();
  for (size_t i = 0; i < to.size(); ++i) {
    uint16_t half = 0;
    std::memcpy(&half, bytes + 2 * i, 2);
    to[i] = float_of_half(half);
  }
  return out;
}

}  // namespace

bool is_gguf_file(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  const RandomAccessFile file(path);
  std::string begins(gguf_magic.size(), '\0');
  if (file.size() < std::ssize(begins)) return false;
  file.read(0, std::as_writable_bytes(std::span(begins)));
  return begins == gguf_magic;
}

GgufFile GgufFile::load(const std::filesystem::path& path) {
  const auto file = std::make_shared<RandomAccessFile>(path);
  const auto read = [&](int64_t begin, std::span<std::byte> to) { file->read(begin, to); };
  GgufFile out(read_gguf_header(read, file->size(), path.string()));
  out.file_ = file;
  for (size_t i = 0; i < out.header_.tensors.size(); ++i) out.index_.emplace(out.header_.tensors[i].name, i);
  return out;
}

void GgufFile::map() { mapping_ = FileMapping::of(*file_); }

const GgufTensor& GgufFile::entry(std::string_view name) const {
  const auto found = index_.find(name);
  require<InputError>(found != index_.end(), metadata().file(), "there is no tensor {}", quoted_name(name));
  return header_.tensors[found->second];
}

std::shared_ptr<const std::byte> GgufFile::bytes_of(const GgufTensor& tensor) const {
  if (mapping_) return {mapping_, mapping_->bytes().data() + tensor.begin};
  const auto size = static_cast<size_t>(tensor.end - tensor.begin);
  const std::shared_ptr<std::byte[]> copy(new std::byte[size]);
  file_->read(tensor.begin, {copy.get(), size});
  return {copy, copy.get()};
}

StoredValues GgufFile::get(std::string_view name) const {
  const GgufTensor& tensor = entry(name);
  const std::shared_ptr<const std::byte> bytes = bytes_of(tensor);
  const int64_t size = tensor.end - tensor.begin;
  if (!tensor.type->format) return from_half(bytes.get(), tensor.shape);
  const WeightFormat format = *tensor.type->format;
  if (is_quantized(format)) {
    const int64_t K = tensor.shape.dim(-1), rows = tensor.shape.numel() / K;
    const StoredValues values(in_place(bytes, size, DType::u8, {rows, row_bytes(format, K)}), format, K);
    return tensor.shape.rank() == 2 ? values : StoredValues(values.numbers().reshape(tensor.shape));
  }
  // The offset is a multiple of the alignment, which may be less than the size of a number.
  const DType type = element_type(format);
  if (reinterpret_cast<uintptr_t>(bytes.get()) % static_cast<uintptr_t>(size_of(type)) == 0)
    return in_place(bytes, size, type, tensor.shape);
  Tensor out = Tensor::empty(tensor.shape, type);
  std::memcpy(out.storage()->data(), bytes.get(), static_cast<size_t>(size));
  return out;
}

GgufOutline GgufFile::outline() const {
  GgufOutline out = {metadata()};
  for (const GgufTensor& tensor : tensors()) out.shapes[tensor.name] = tensor.shape;
  for (const char* name : {gguf_rope_factors, gguf_long_rope_factors, gguf_short_rope_factors}) {
    if (!has(name)) continue;
    const Tensor values = get(name).numbers().to(DType::f32).contiguous_copy();
    for (const float x : values.span<float>()) out.factors[name].push_back(double{x});
  }
  return out;
}

}  // namespace qkv
