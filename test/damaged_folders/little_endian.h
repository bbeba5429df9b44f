// Numbers as bytes, the lowest byte first.
//
//     std::string bytes = bytes_of(uint32_t{6}, uint16_t{16});
//     uint32_t version = number_at<uint32_t>(bytes, 0);
#pragma once

#include <cstring>
#include <string>
#include <string_view>

namespace qkv::test {

template <class... Numbers>
std::string bytes_of(Numbers... numbers) {
  std::string bytes;
  (bytes.append(reinterpret_cast<const char*>(&numbers), sizeof numbers), ...);
  return bytes;
}

template <class T>
T number_at(std::string_view bytes, size_t at) {
  T number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

template <class T>
void set_number(std::string& bytes, size_t at, T number) {
  std::memcpy(bytes.data() + at, &number, sizeof number);
}

// Takes the numbers and texts of a file one after another. What lies behind its end is zeros, and makes it not whole.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  template <class T>
  T number() {
    const std::string_view taken = text(sizeof(T));
    return taken.size() == sizeof(T) ? number_at<T>(taken, 0) : T{};
  }
  std::string_view text(size_t size) {
    whole_ = whole_ && size <= rest_.size();
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  bool whole() const { return whole_; }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
  bool whole_ = true;
};

}  // namespace qkv::test
