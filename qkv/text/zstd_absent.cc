// In place of zstd.cc where libzstd was not found.
#include "qkv/base/error.h"
#include "qkv/text/compression.h"

namespace qkv {

bool has_zstd() { return false; }

std::unique_ptr<Compressor> make_zstd_compressor(const std::string& name) {
  fail<InputError>("write", "{}: this qkv was built without libzstd; write plain text or .gz", name);
}

std::unique_ptr<Decompressor> make_zstd_decompressor(const std::string& name) {
  fail<InputError>(name,
                   "this is compressed by zstd, and this qkv was built without libzstd; decompress it: "
                   "zstd -d FILE");
}

}  // namespace qkv
