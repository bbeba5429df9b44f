// Base64: any bytes are the same after a round trip; text is decoded or refused.
#include "qkv/base/base64.h"

#include "fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace qkv;
  const std::string_view input = fuzz::as_text(data, size);
  fuzz::expect(base64_decoded(base64_encoded(input), "input") == input, "other bytes after base64");
  fuzz::accepted([&] {
    const std::string bytes = base64_decoded(input, "input");
    fuzz::expect(bytes.size() <= input.size() / 4 * 3 + 2, "more bytes than their text has");
    fuzz::expect(base64_decoded(base64_encoded(bytes), "again") == bytes, "other bytes after base64");
  });
  return 0;
}
