#include "qkv/published/gguf/gguf_file.h"

#include <cstring>

#include "qkv/base/error.h"
#include "qkv/base/names.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/format/stored_format.h"
#include "qkv/tensor/half.h"

namespace qkv {
namespace {

// A tensor of numbers that are stored as they are used.
Tensor same_numbers(const std::shared_ptr<const std::byte>& bytes, const GgufTensor& tensor, DType type) {
  auto* const data = const_cast<std::byte*>(bytes.get());
  const std::shared_ptr<void> owner(bytes, data);
  return Tensor::view(Storage::borrow(data, tensor.end - tensor.begin, owner, /*writable=*/false), type,
                      {tensor.shape.numel()}, {1})
      .reshape(tensor.shape);
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

std::optional<StoredRows> GgufFile::stored_rows(std::string_view name) const {
  const GgufTensor& tensor = entry(name);
  if (!tensor.type->format || !has_blocks(*tensor.type->format)) return {};
  const int64_t K = tensor.shape.dim(-1);
  return StoredRows{*tensor.type->format, tensor.shape.numel() / K, K, bytes_of(tensor)};
}

Tensor GgufFile::get(std::string_view name) const {
  const GgufTensor& tensor = entry(name);
  if (const std::optional<StoredRows> stored = stored_rows(name)) {
    Tensor out = Tensor::empty(tensor.shape, DType::f32);
    const StoredFormat& format = stored_format(stored->format);
    const int64_t some = std::max<int64_t>(1, 65536 / stored->K);
    parallel_ranges(stored->rows, some, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        decode_row(format, stored->row(row), stored->K, out.data<float>() + row * stored->K);
    });
    return out;
  }
  const std::shared_ptr<const std::byte> bytes = bytes_of(tensor);
  // The offset is a multiple of the alignment, which may be less than the size of a number.
  const DType type = tensor.type->format == WeightFormat::f32 ? DType::f32 : DType::bf16;
  const bool is_aligned = reinterpret_cast<uintptr_t>(bytes.get()) % static_cast<uintptr_t>(size_of(type)) == 0;
  if (tensor.type->format && is_aligned) return same_numbers(bytes, tensor, type);
  Tensor out = Tensor::empty(tensor.shape, tensor.type->format ? type : DType::f32);
  if (tensor.type->format) {
    std::memcpy(out.storage()->data(), bytes.get(), static_cast<size_t>(tensor.end - tensor.begin));
    return out;
  }
  const std::span<float> to = out.span<float>();
  for (size_t i = 0; i < to.size(); ++i) {
    uint16_t half;
    std::memcpy(&half, bytes.get() + 2 * i, 2);
    to[i] = float_of_half(half);
  }
  return out;
}

}  // namespace qkv
