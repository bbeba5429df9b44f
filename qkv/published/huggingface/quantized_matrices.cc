#include "qkv/published/huggingface/quantized_matrices.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "qkv/base/error.h"
#include "qkv/base/integers.h"
#include "qkv/base/names.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/format/stored_format.h"

namespace qkv {
namespace {

constexpr int64_t block = 32;  // of q4_0 and q8_0

// How the integers of a matrix are stored.
enum class Integers { bytes, packed_bytes, packed_nibbles };  // packed: unsigned, from the low bits of an I32 up

constexpr int64_t bytes_of_row(Integers integers, int64_t K) {
  switch (integers) {
    case Integers::bytes: return K;
    case Integers::packed_bytes: return ceil_div(K, 4) * 4;
    case Integers::packed_nibbles: return ceil_div(K, 8) * 4;
  }
  return 0;
}
constexpr int bits_of(Integers integers) { return integers == Integers::packed_nibbles ? 4 : 8; }

int integer_at(Integers integers, const uint8_t* row, int64_t k) {
  switch (integers) {
    case Integers::bytes: return static_cast<int8_t>(row[k]);
    case Integers::packed_bytes: return row[k] - 128;
    case Integers::packed_nibbles: return (row[k / 2] >> 4 * (k % 2) & 15) - 8;
  }
  return 0;
}

struct Matrix {
  Integers integers = {};
  int64_t N = 0, K = 0;
  Tensor numbers = {};  // u8 (N, bytes of a row)
  Tensor scales = {};   // f32 (N, groups)

  int64_t group() const { return K / scales.dim(1); }
  const uint8_t* row(int64_t n) const { return numbers.data<uint8_t>() + n * numbers.dim(1); }
  float scale(int64_t n, int64_t k) const { return scales.data<float>()[n * scales.dim(1) + k / group()]; }
};

bool is_exact_as_half(float x) {
  StoredHalf half = {};
  return half.store(x) && half.value() == x;
}

// One scale for a row.
StoredValues as_int8(const Matrix& m) {
  Tensor rows = Tensor::empty({m.N, row_bytes(WeightFormat::int8, m.K)}, DType::u8);
  parallel_for(m.N, [&](int64_t n) {
    uint8_t* const to = rows.data<uint8_t>() + n * rows.dim(1);
    for (int64_t k = 0; k < m.K; ++k) to[k] = static_cast<uint8_t>(integer_at(m.integers, m.row(n), k));
    const float scale = m.scale(n, 0);
    std::memcpy(to + m.K, &scale, sizeof(scale));
  });
  return {rows, WeightFormat::int8, m.K};
}

StoredValues as_blocks(const Matrix& m, WeightFormat format) {
  const StoredFormat& stored = stored_format(format);
  const int zero = bits_of(m.integers) == 4 ? 8 : 128;
  Tensor rows = Tensor::empty({m.N, row_bytes(format, m.K)}, DType::u8);
  parallel_for(m.N, [&](int64_t n) {
    BlockNumbers numbers;
    uint8_t* to = rows.data<uint8_t>() + n * rows.dim(1);
    for (int64_t k = 0; k < m.K; k += block, to += stored.block_bytes) {
      numbers.d.store(m.scale(n, k));
      for (int64_t i = 0; i < block; ++i)
        numbers.numbers[i] = static_cast<uint8_t>(integer_at(m.integers, m.row(n), k + i) + zero);
      stored.put_together(numbers, to);
    }
  });
  return {rows, format, m.K};
}

StoredValues as_floats(const Matrix& m) {
  Tensor values = Tensor::empty({m.N, m.K});
  parallel_for(m.N, [&](int64_t n) {
    float* const to = values.data<float>() + n * m.K;
    for (int64_t k = 0; k < m.K; ++k)
      to[k] = static_cast<float>(integer_at(m.integers, m.row(n), k)) * m.scale(n, k);
  });
  return values;
}

StoredValues held(const Matrix& m) {
  if (bits_of(m.integers) == 8 && m.scales.dim(1) == 1) return as_int8(m);
  const std::span<const float> scales = m.scales.span<float>();
  const bool are_blocks = m.K % block == 0 && m.group() % block == 0;
  if (!are_blocks || !std::ranges::all_of(scales, is_exact_as_half)) return as_floats(m);
  return as_blocks(m, bits_of(m.integers) == 4 ? WeightFormat::q4_0 : WeightFormat::q8_0);
}

// The tensors of one layer.
class Layer {
 public:
  Layer(const PublishedTensors& tensors, std::string name) : tensors_(tensors), name_(std::move(name)) {}

  std::string tensor(const char* suffix) const { return name_ + suffix; }
  bool has(const char* suffix) const { return tensors_.has(tensor(suffix)); }
  const SafetensorsEntry& entry(const char* suffix) const {
    return tensors_.file_of(tensor(suffix)).entry(tensor(suffix));
  }

  ComposedTensor packed() const {
    const SafetensorsEntry& words = entry(".weight_packed");
    require<InputError>(has(".weight_shape") && has(".weight_scale"), tensors_.where(), "tensor {} needs {} and {}",
                        quoted_name(words.name), quoted_name(tensor(".weight_shape")),
                        quoted_name(tensor(".weight_scale")));
    const Tensor sizes = tensors_.file_of(tensor(".weight_shape")).get(tensor(".weight_shape"));
    require<InputError>(sizes.dtype() == DType::i32 && sizes.shape() == Shape{2}, tensors_.where(),
                        "tensor {} must be two integers", quoted_name(tensor(".weight_shape")));
    const int64_t N = sizes.data<int32_t>()[0], K = sizes.data<int32_t>()[1];
    const bool is_matrix =
        words.dtype == "I32" && words.shape.rank() == 2 && words.shape.dim(0) == N && N > 0 && K > 0;
    const auto fits = [&](Integers i) { return is_matrix && 4 * words.shape.dim(1) == bytes_of_row(i, K); };
    const bool has_nibbles = fits(Integers::packed_nibbles);
    require<InputError>(has_nibbles || fits(Integers::packed_bytes), tensors_.where(),
                        "tensor {} is {} {}, must be ({}, {}) of 4 bits or ({}, {}) of 8, packed into I32",
                        quoted_name(words.name), words.dtype, words.shape, N, ceil_div(K, 8), N, ceil_div(K, 4));
    return composed(has_nibbles ? Integers::packed_nibbles : Integers::packed_bytes, N, K, ".weight_packed",
                    ".weight_scale", {".weight_shape"});
  }
  ComposedTensor of_bytes(const char* scales) const {
    const SafetensorsEntry& bytes = entry(".weight");
    require<InputError>(bytes.shape.rank() == 2 && bytes.shape.numel() > 0, tensors_.where(),
                        "tensor {} is {}, must be a matrix", quoted_name(bytes.name), bytes.shape);
    return composed(Integers::bytes, bytes.shape.dim(0), bytes.shape.dim(1), ".weight", scales, {".weight_format"});
  }

 private:
  ComposedTensor composed(Integers integers, int64_t N, int64_t K, const char* numbers, const char* scales,
                          std::vector<const char*> more) const {
    for (const char* unsupported : {".input_scale", ".input_zero_point", ".weight_g_idx"})
      require<InputError>(!has(unsupported), tensors_.where(), "tensor {} is not supported",
                          quoted_name(tensor(unsupported)));
    check_zero_points();
    more.insert(more.end(), {numbers, scales, ".weight_zero_point"});
    ComposedTensor out = {.shape = {N, K}, .format = format(integers, N, K, scales)};
    for (const char* suffix : more)
      if (has(suffix)) out.parts.push_back(tensor(suffix));
    out.read = [=, name = name_](const PublishedTensors& tensors) {
      const Layer layer(tensors, name);
      const std::string bytes = layer.tensor(numbers);
      return held({integers, N, K, tensors.file_of(bytes).bytes(bytes), layer.scales(scales, N)});
    };
    return out;
  }

  // Unless scales say otherwise when they are read. Groups of a power of two divide a row in one way: others could be
  // groups of which the last is shorter.
  WeightFormat format(Integers integers, int64_t N, int64_t K, const char* scales) const {
    const Shape& shape = entry(scales).shape;
    const bool of_groups = shape.numel() != 1 && shape.numel() != N;
    const bool fits = shape.rank() == 2 && shape.dim(0) == N && shape.dim(1) > 0 && K % shape.dim(1) == 0 &&
                      std::has_single_bit(static_cast<uint64_t>(K / shape.dim(1)));
    require<InputError>(!of_groups || fits, tensors_.where(),
                        "tensor {} is {}, must be (1), ({}, 1) or a scale for each group of 2^n of the {} columns",
                        quoted_name(tensor(scales)), shape, N, K);
    if (bits_of(integers) == 4) return WeightFormat::q4_0;
    return of_groups ? WeightFormat::q8_0 : WeightFormat::int8;
  }

  void check_zero_points() const {
    if (!has(".weight_zero_point")) return;
    const std::string zero_point = tensor(".weight_zero_point");
    const Tensor bytes = tensors_.file_of(zero_point).bytes(zero_point);
    require<InputError>(std::ranges::all_of(bytes.span<uint8_t>(), [](uint8_t b) { return b == 0; }),
                        tensors_.where(), "tensor {} is not 0: only symmetric numbers are supported",
                        quoted_name(zero_point));
  }

  // (N, groups), of a shape that was checked
  Tensor scales(const char* suffix, int64_t N) const {
    const Tensor stored = tensors_.get(tensor(suffix)).numbers().to(DType::f32);
    const int64_t count = stored.numel();
    Tensor out = Tensor::empty({N, std::max<int64_t>(1, count / N)});
    const float divisor = std::string_view(suffix) == ".SCB" ? 127.0f : 1.0f;
    for (int64_t i = 0; i < out.numel(); ++i)
      out.data<float>()[i] = stored.data<float>()[count == 1 ? 0 : i] / divisor;
    return out;
  }

  const PublishedTensors& tensors_;
  std::string name_;
};

}  // namespace

std::map<std::string, ComposedTensor> quantized_matrices(const PublishedTensors& tensors) {
  std::map<std::string, ComposedTensor> out;
  for (const std::string& tensor : tensors.names()) {
    const size_t dot = tensor.rfind('.');
    if (dot == std::string::npos) continue;
    const std::string name = tensor.substr(0, dot), suffix = tensor.substr(dot);
    const Layer layer(tensors, name);
    if (suffix == ".weight_packed") {
      out.emplace(name + ".weight", layer.packed());
    } else if (suffix == ".weight" && layer.entry(".weight").dtype == "I8") {
      const char* scales = layer.has(".SCB") ? ".SCB" : ".weight_scale";
      require<InputError>(layer.has(scales), tensors.where(), "tensor {} has integers, but no scales {}",
                          quoted_name(tensor), quoted_name(name + scales));
      out.emplace(tensor, layer.of_bytes(scales));
    }
  }
  return out;
}

}  // namespace qkv
