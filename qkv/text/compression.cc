#include "qkv/text/compression.h"

#include <algorithm>
#include <array>

#include <zlib.h>

#include "qkv/base/error.h"

namespace qkv {
namespace {

using namespace std::string_view_literals;

constexpr int gzip_format = 15 + 16;            // windowBits of zlib: the largest window, and gzip
constexpr size_t zlib_piece = size_t{1} << 30;  // zlib counts in 32 bits

Bytef* bytes_of(const char* data) { return reinterpret_cast<Bytef*>(const_cast<char*>(data)); }

class GzipCompressor final : public Compressor {
 public:
  explicit GzipCompressor(const std::string& name) {
    require(deflateInit2(&zlib_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_format, 8, Z_DEFAULT_STRATEGY) == Z_OK,
            "write", "{}: zlib does not start", name);
  }
  ~GzipCompressor() override { deflateEnd(&zlib_); }
  GzipCompressor(const GzipCompressor&) = delete;
  GzipCompressor& operator=(const GzipCompressor&) = delete;

  std::string compress(std::string_view bytes) override {
    std::string out;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), zlib_piece)))
      deflate_all(bytes.substr(0, zlib_piece), Z_NO_FLUSH, out);
    return out;
  }

  std::string finish() override {
    std::string out;
    deflate_all({}, Z_FINISH, out);
    deflateReset(&zlib_);
    return out;
  }

 private:
  void deflate_all(std::string_view bytes, int flush, std::string& out) {
    zlib_.next_in = bytes_of(bytes.data());
    zlib_.avail_in = static_cast<uInt>(bytes.size());
    std::array<char, 1 << 14> buffer;
    do {
      zlib_.next_out = bytes_of(buffer.data());
      zlib_.avail_out = buffer.size();
      deflate(&zlib_, flush);
      out.append(buffer.data(), buffer.size() - zlib_.avail_out);
    } while (zlib_.avail_out == 0);
  }

  z_stream zlib_ = {};
};

class GzipDecompressor final : public Decompressor {
 public:
  explicit GzipDecompressor(const std::string& name) {
    require(inflateInit2(&zlib_, gzip_format) == Z_OK, "read", "{}: zlib does not start", name);
  }
  ~GzipDecompressor() override { inflateEnd(&zlib_); }
  GzipDecompressor(const GzipDecompressor&) = delete;
  GzipDecompressor& operator=(const GzipDecompressor&) = delete;

  Step decompress(std::string_view in, std::span<char> out) override {
    in = in.substr(0, zlib_piece);
    out = out.first(std::min(out.size(), zlib_piece));
    zlib_.next_in = bytes_of(in.data());
    zlib_.avail_in = static_cast<uInt>(in.size());
    zlib_.next_out = bytes_of(out.data());
    zlib_.avail_out = static_cast<uInt>(out.size());
    const int result = inflate(&zlib_, Z_NO_FLUSH);
    Step step = {.read = in.size() - zlib_.avail_in,
                 .written = out.size() - zlib_.avail_out,
                 .ended = result == Z_STREAM_END};
    if (result != Z_OK && result != Z_BUF_ERROR && result != Z_STREAM_END)
      step.error = zlib_.msg ? std::string_view(zlib_.msg) : "inflate fails"sv;
    return step;
  }

  void restart() override { inflateReset(&zlib_); }

 private:
  z_stream zlib_ = {};
};

}  // namespace

Compression compression_named(std::string_view path) {
  if (path.ends_with(".gz")) return Compression::gzip;
  return path.ends_with(".zst") ? Compression::zstd : Compression::none;
}

CompressionGuess compression_of(std::string_view first_bytes) {
  struct Magic {
    Compression kind;
    std::string_view bytes;
    unsigned char mask;  // of the first byte
  };
  // Files of several threads of zstd may begin with a frame that is to be skipped: 0x50 to 0x5f, 2a 4d 18.
  static constexpr Magic all[] = {{Compression::gzip, "\x1f\x8b"sv, 0xff},
                                  {Compression::zstd, "\x28\xb5\x2f\xfd"sv, 0xff},
                                  {Compression::zstd, "\x50\x2a\x4d\x18"sv, 0xf0}};
  bool undecided = first_bytes.empty();
  for (const Magic& magic : all) {
    const size_t n = std::min(first_bytes.size(), magic.bytes.size());
    if (n == 0) continue;
    const bool fits =
        (static_cast<unsigned char>(first_bytes[0]) & magic.mask) == static_cast<unsigned char>(magic.bytes[0]) &&
        first_bytes.substr(1, n - 1) == magic.bytes.substr(1, n - 1);
    if (fits && n == magic.bytes.size()) return {.kind = magic.kind};
    undecided = undecided || fits;
  }
  return {.undecided = undecided};
}

std::unique_ptr<Compressor> make_compressor(Compression kind, const std::string& name) {
  if (kind == Compression::zstd) return make_zstd_compressor(name);
  return std::make_unique<GzipCompressor>(name);
}

std::unique_ptr<Decompressor> make_decompressor(Compression kind, const std::string& name) {
  if (kind == Compression::zstd) return make_zstd_decompressor(name);
  return std::make_unique<GzipDecompressor>(name);
}

}  // namespace qkv
