// Compressed bytes, piece by piece: gzip and zstd.
//
//     const Compression kind = compression_named("corpus.tsv.zst");         // or compression_of(its first bytes)
//     const auto compressor = make_compressor(kind, "corpus.tsv.zst");
//     out.write(compressor->compress(text));
//     out.write(compressor->finish());                                      // the end of a frame; more may follow
//
// A frame (in gzip: a member) is whole by itself, and a file is one or several of them, so that compressed files may be
// concatenated. bytes.h reads them. zstd needs libzstd, which is optional when qkv is built: without it (zstd_absent.cc
// in place of zstd.cc) make_compressor() and make_decompressor() are an InputError that says so and names the file.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace qkv {

enum class Compression { none, gzip, zstd };

Compression compression_named(std::string_view path);  // .gz, .zst
// Of a file that begins with these bytes; more than the four bytes that are looked at may be given, or fewer. `undecided`:
// they may be the beginning of compressed data, and more bytes are needed.
struct CompressionGuess {
  Compression kind = Compression::none;
  bool undecided = false;
};
CompressionGuess compression_of(std::string_view first_bytes);

class Compressor {
 public:
  virtual ~Compressor() = default;
  virtual std::string compress(std::string_view bytes) = 0;  // what is ready, perhaps nothing
  virtual std::string
  finish() = 0;  // the rest of the frame; what follows is another one. At least one frame is written
};

class Decompressor {
 public:
  struct Step {
    size_t read = 0, written = 0;
    bool ended = false;           // the frame; another may follow, after restart()
    std::string_view error = {};  // what is wrong with the bytes after those written
  };
  virtual ~Decompressor() = default;
  virtual Step decompress(std::string_view in, std::span<char> out) = 0;
  virtual void restart() = 0;
};

// Not of Compression::none. `name` is of the file, in errors.
std::unique_ptr<Compressor> make_compressor(Compression kind, const std::string& name);
std::unique_ptr<Decompressor> make_decompressor(Compression kind, const std::string& name);

// Those of zstd.
bool has_zstd();
std::unique_ptr<Compressor> make_zstd_compressor(const std::string& name);
std::unique_ptr<Decompressor> make_zstd_decompressor(const std::string& name);

}  // namespace qkv
