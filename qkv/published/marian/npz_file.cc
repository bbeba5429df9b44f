#include "qkv/published/marian/npz_file.h"

#include <cstring>
#include <memory>
#include <zip.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/names.h"
#include "qkv/tensor/half.h"

namespace qkv {
namespace {

class Archive {
 public:
  explicit Archive(const std::filesystem::path& path) : where_(path.string()), bytes_(read_file(path)) {
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t* source = zip_source_buffer_create(bytes_.data(), bytes_.size(), 0, &error);
    if (source != nullptr) zip_.reset(zip_open_from_source(source, ZIP_RDONLY, &error));
    const std::string why = zip_error_strerror(&error);
    zip_error_fini(&error);
    if (zip_ == nullptr) {
      zip_source_free(source);
      fail<InputError>(where_, "this is not a NumPy archive: {}", one_line(why));
    }
    check_sizes();
  }
  int64_t count() const { return zip_get_num_entries(zip_.get(), 0); }
  std::pair<std::string, std::string> read(int64_t i) const {
    const zip_stat_t stat = stat_of(i);
    const std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file(
        zip_fopen_index(zip_.get(), static_cast<uint64_t>(i), 0), zip_fclose);
    std::string bytes(stat.size, '\0');
    const bool whole = file && zip_fread(file.get(), bytes.data(), stat.size) == static_cast<int64_t>(stat.size);
    require<InputError>(whole, where_, "array {} is damaged", quoted_name(stat.name));
    return {stat.name, std::move(bytes)};
  }

 private:
  zip_stat_t stat_of(int64_t i) const {
    zip_stat_t stat;
    const bool found = zip_stat_index(zip_.get(), static_cast<uint64_t>(i), 0, &stat) == 0;
    require<InputError>(found && (stat.valid & ZIP_STAT_SIZE) != 0 && (stat.valid & ZIP_STAT_NAME) != 0, where_,
                        "entry {} of the archive is damaged", i);
    return stat;
  }
  // Checked before any array is unpacked: all arrays together may be only a limited factor larger than the file.
  void check_sizes() const {
    const uint64_t largest = 100 * uint64_t{bytes_.size()};
    uint64_t sum = 0;
    for (int64_t i = 0; i < count(); ++i) {
      const zip_stat_t stat = stat_of(i);
      require<InputError>(stat.size <= largest - sum, where_,
                          "with array {} of {} bytes it would unpack to more than 100 times its own size",
                          quoted_name(stat.name), stat.size);
      sum += stat.size;
    }
  }

  std::string where_, bytes_;
  std::unique_ptr<zip_t, void (*)(zip_t*)> zip_{nullptr, zip_discard};
};

struct Array {
  std::string type;  // "<f4"
  std::vector<int64_t> shape;
  std::string_view data;
};

// The text after 'key': in the header, {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
std::string_view value_of(std::string_view header, std::string_view key) {
  const size_t at = header.find(key);
  if (at == std::string_view::npos) return {};
  header.remove_prefix(at + key.size());
  header.remove_prefix(std::min(header.find_first_not_of(": "), header.size()));
  return header;
}

// The format of numpy.save(), versions 1 to 3.
Array parse_array(std::string_view bytes, const std::string& where) {
  const auto damaged = [&](bool fine) { require<InputError>(fine, where, "this is not a NumPy array"); };
  damaged(bytes.size() >= 12 && bytes.starts_with("\x93NUMPY"));
  const bool is_old = bytes[6] == 1;
  uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 8, is_old ? 2 : 4);
  const size_t begin = is_old ? 10 : 12;
  damaged(length <= bytes.size() - begin);
  const std::string_view header = bytes.substr(begin, length);
  Array array{.type = "", .shape = {}, .data = bytes.substr(begin + length)};

  const std::string_view type = value_of(header, "'descr'"), order = value_of(header, "'fortran_order'");
  std::string_view shape = value_of(header, "'shape'");
  damaged(type.size() > 4 && type.front() == '\'' && shape.starts_with('('));
  array.type = type.substr(1, type.find('\'', 1) - 1);
  require<InputError>(order.starts_with("False"), where, "arrays in Fortran order are not supported");
  int64_t count = 1;
  for (shape.remove_prefix(1); !shape.empty() && shape.front() != ')';) {
    int64_t size = 0;
    size_t digits = 0;
    for (; digits < shape.size() && digits < 12 && shape[digits] >= '0' && shape[digits] <= '9'; ++digits)
      size = size * 10 + (shape[digits] - '0');
    damaged(digits > 0);
    shape.remove_prefix(digits);
    shape.remove_prefix(std::min(shape.find_first_not_of(", "), shape.size()));
    array.shape.push_back(size);
    damaged(array.shape.size() <= Shape::max_rank && (size == 0 || count <= (int64_t{1} << 40) / size));
    count *= size;
  }
  damaged(array.type.size() == 3 && array.type[2] >= '1' && array.type[2] <= '8');
  const int64_t width = array.type[2] - '0';
  require<InputError>(std::ssize(array.data) == count * width, where, "{} bytes do not hold {} numbers of {} bytes",
                      array.data.size(), count, width);
  return array;
}

Tensor tensor_of(const Array& array) {
  Tensor out = Tensor::empty(Shape(array.shape));
  if (array.type == "<f4") {
    std::memcpy(out.data<float>(), array.data.data(), array.data.size());
    return out;
  }
  for (int64_t i = 0; i < out.numel(); ++i) {
    uint16_t half = 0;
    std::memcpy(&half, array.data.data() + 2 * i, 2);
    out.data<float>()[i] = float_of_half(half);
  }
  return out;
}

}  // namespace

NpzFile NpzFile::load(const std::filesystem::path& path) {
  const Archive archive(path);
  NpzFile out{.where = path.string()};
  for (int64_t i = 0; i < archive.count(); ++i) {
    auto [name, bytes] = archive.read(i);
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    const std::string where = fmt::format("{}: array {}", out.where, quoted_name(name));
    const Array array = parse_array(bytes, where);
    out.size += std::ssize(array.data);
    if (array.type == "<f4" || array.type == "<f2") {
      out.tensors[name] = tensor_of(array);
    } else {
      require<InputError>(array.type == "|i1" || array.type == "|u1", where,
                          "its type is {}, must be <f4, <f2, |i1 or |u1", quoted_name(array.type));
      out.bytes[name] = array.data;
    }
  }
  return out;
}

}  // namespace qkv
