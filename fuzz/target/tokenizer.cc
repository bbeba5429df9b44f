// A SentencePiece model and a text: the last byte of the input says how many bytes before it are the text. What is
// loaded encodes any text into ids of its own, and decodes any of its ids.
#include "qkv/text/tokenizer.h"

#include <numeric>

#include "fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace qkv;
  if (size == 0) return 0;
  const std::string_view bytes = fuzz::as_text(data, size - 1);
  const size_t length = std::min<size_t>(data[size - 1], bytes.size());
  fuzz::accepted([&] {
    const Tokenizer tokenizer = Tokenizer::from_serialized(std::string(bytes.substr(0, bytes.size() - length)));
    const std::vector<int32_t> ids = tokenizer.encode(bytes.substr(bytes.size() - length));
    for (const int32_t id : ids) fuzz::expect(id >= 0 && id < tokenizer.size(), "an id outside the vocabulary");
    tokenizer.decode(ids);
    std::vector<int32_t> all(static_cast<size_t>(tokenizer.size()));
    std::iota(all.begin(), all.end(), 0);
    tokenizer.decode(all);
    for (const int32_t id : all) fuzz::expect(!tokenizer.token(id).empty(), "an empty token");
  });
  return 0;
}
