// A safetensors file: every tensor of a file that is taken can be read to its last number, or its type is refused.
#include "qkv/tensor/safetensors.h"

#include "fuzz/input.h"

namespace {

// Reads all of them, as a sum that is used.
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
    const SafetensorsFile file = SafetensorsFile::load(input.path());
    volatile double sum = 0;
    for (const std::string& name : file.names())
      fuzz::accepted([&] {
        const Tensor tensor = file.get(name);
        fuzz::expect(file.get(name, tensor.shape()).numel() == tensor.numel(), "another number of numbers");
        sum = sum + sum_of(tensor);
      });
  });
  return 0;
}
