#include <array>
#include <zstd.h>

#include "qkv/base/error.h"
#include "qkv/text/compression.h"

namespace qkv {
namespace {

class ZstdCompressor final : public Compressor {
 public:
  explicit ZstdCompressor(const std::string& name) : context_(ZSTD_createCCtx(), ZSTD_freeCCtx) {
    require(context_ != nullptr, "write", "{}: zstd does not start", name);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
  }

  std::string compress(std::string_view bytes) override { return all_of(bytes, ZSTD_e_continue); }
  std::string finish() override { return all_of({}, ZSTD_e_end); }

 private:
  std::string all_of(std::string_view bytes, ZSTD_EndDirective how) {
    std::string text;
    std::array<char, 1 << 14> buffer;
    ZSTD_inBuffer in = {bytes.data(), bytes.size(), 0};
    for (size_t rest = 1; rest != 0;) {
      ZSTD_outBuffer out = {buffer.data(), buffer.size(), 0};
      rest = ZSTD_compressStream2(context_.get(), &out, &in, how);
      require(!ZSTD_isError(rest), "write", "zstd: {}", ZSTD_getErrorName(rest));
      text.append(buffer.data(), out.pos);
      if (how == ZSTD_e_continue && in.pos == in.size) break;  // it keeps the rest for a larger block
    }
    return text;
  }

  std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context_;
};

class ZstdDecompressor final : public Decompressor {
 public:
  explicit ZstdDecompressor(const std::string& name) : context_(ZSTD_createDCtx(), ZSTD_freeDCtx) {
    require(context_ != nullptr, "read", "{}: zstd does not start", name);
  }

  Step decompress(std::string_view in, std::span<char> out) override {
    ZSTD_inBuffer from = {in.data(), in.size(), 0};
    ZSTD_outBuffer to = {out.data(), out.size(), 0};
    const size_t rest = ZSTD_decompressStream(context_.get(), &to, &from);
    const bool failed = ZSTD_isError(rest);
    return {.read = from.pos,
            .written = to.pos,
            .ended = rest == 0,
            .error = failed ? std::string_view(ZSTD_getErrorName(rest)) : std::string_view()};
  }

  void restart() override { ZSTD_DCtx_reset(context_.get(), ZSTD_reset_session_only); }

 private:
  std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context_;
};

}  // namespace

bool has_zstd() { return true; }

std::unique_ptr<Compressor> make_zstd_compressor(const std::string& name) {
  return std::make_unique<ZstdCompressor>(name);
}

std::unique_ptr<Decompressor> make_zstd_decompressor(const std::string& name) {
  return std::make_unique<ZstdDecompressor>(name);
}

}  // namespace qkv
