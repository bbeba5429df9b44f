// A GGUF file: every tensor of one that is taken can be read to its last number, and what it says of a model gives a
// configuration and a tokenizer, or is refused.
#include "fuzz/input.h"
#include "qkv/published/gguf/gguf_file.h"
#include "qkv/published/gguf/gguf_folder.h"

namespace {

// Reads all numbers, as a sum that is used.
double sum_of(const qkv::Tensor& tensor) {
  const qkv::Tensor numbers = tensor.to(qkv::DType::f32).contiguous_copy();
  double sum = 0;
  for (const float x : numbers.span<float>()) sum += static_cast<double>(x);
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace qkv;
  const fuzz::InputFile input(fuzz::as_text(data, size));
  fuzz::accepted([&] {
    const GgufFile file = GgufFile::load(input.path());
    volatile double sum = 0;
    for (const GgufTensor& entry : file.tensors()) {
      const StoredValues values = file.get(entry.name);
      fuzz::expect(values.shape() == entry.shape, "another shape");
      sum = sum + sum_of(values.numbers());
    }
  });
  fuzz::accepted([&] {
    const std::unique_ptr<ModelFolder> model = open_gguf(input.path());
    if (!model) return;
    model->config();
    model->generation_config();
    const Tokenizer tokenizer = model->tokenizer(TokenizerSide::source);
    const std::vector<int32_t> ids = tokenizer.encode("A text of 12 words\n");
    tokenizer.decode(ids);
  });
  return 0;
}
