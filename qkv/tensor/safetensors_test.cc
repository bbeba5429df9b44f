#include "qkv/tensor/safetensors.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <unistd.h>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/random.h"

namespace qkv::safetensors_test {

namespace fs = std::filesystem;

class Safetensors : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "qkv-safetensors-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
    path = folder / "x.safetensors";
  }
  void TearDown() override { fs::remove_all(folder); }

  SafetensorsFile load(const std::string& bytes) const {
    fs::remove(path);  // some file systems sync a truncated file to disk, which is slow
    std::ofstream(path, std::ios::binary) << bytes;
    return SafetensorsFile::load(path);
  }

  fs::path folder, path;
};

std::string file_bytes(const std::string& header, const std::string& data = {}) {
  std::string length(8, '\0');
  for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> 8 * i & 255);
  return length + header + data;
}

template <class T>
std::string bytes_of(std::initializer_list<T> values) {
  return std::string(reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T));
}

std::string message_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(Safetensors, LoadsWhatWasSaved) {
  const Tensor real = Tensor::from({1.5f, -0.0f, std::numeric_limits<float>::infinity(), 4, 5, 1e-40f}, {2, 3});
  const Tensor whole = Tensor::from(std::vector<int32_t>{1, -2, INT32_MIN}, {3});
  const std::vector<uint8_t> mask = {0, 1, 255};
  const Tensor bytes = Tensor::from(std::span<const uint8_t>(mask), {3, 1});
  const Tensor scalar = Tensor::from({7}, {});
  const Tensor none = Tensor::empty({0, 4});
  const std::string odd_name = "caf\xc3\xa9 \"quoted\"\n";
  save_safetensors(path,
                   {{"mask", bytes},
                    {"real", real},
                    {odd_name, whole},
                    {"bf16", real.to(DType::bf16)},
                    {"scalar", scalar},
                    {"none", none}},
                   {{"epoch", "3"}, {"note", "two\nlines"}});
  const SafetensorsFile file = SafetensorsFile::load(path);
  EXPECT_EQ(file.metadata(), (std::map<std::string, std::string>{{"epoch", "3"}, {"note", "two\nlines"}}));
  EXPECT_EQ(file.names().size(), 6u);
  EXPECT_TRUE(file.has(odd_name));
  EXPECT_FALSE(file.has("epoch"));

  const Tensor real_back = file.get("real", {2, 3});
  EXPECT_EQ(0, std::memcmp(real_back.data<float>(), real.data<float>(), 6 * sizeof(float)));
  EXPECT_EQ(file.get(odd_name).at<int32_t>({2}), INT32_MIN);
  EXPECT_EQ(file.get("mask").shape(), (Shape{3, 1}));
  EXPECT_EQ(file.get("mask").at<uint8_t>({2, 0}), 255);
  EXPECT_EQ(static_cast<float>(file.get("bf16").at<bfloat16>({0, 0})), 1.5f);
  EXPECT_EQ(file.get("scalar").rank(), 0);
  EXPECT_EQ(file.get("scalar").at<float>({}), 7);
  EXPECT_EQ(file.get("none").shape(), (Shape{0, 4}));
}

TEST_F(Safetensors, AFileMayHaveNoTensors) {
  save_safetensors(path, {});
  EXPECT_TRUE(SafetensorsFile::load(path).names().empty());
}

TEST_F(Safetensors, AnOpenFileOutlivesItsNameAndATensorTheFile) {
  save_safetensors(path, {{"odd", Tensor::zeros({3}, DType::u8)}, {"x", Tensor::from({1, 2, 3}, {3})}});
  Tensor x;
  {
    const SafetensorsFile file = SafetensorsFile::load(path);
    fs::remove(path);
    x = file.get("x");
  }
  EXPECT_EQ(x.at<float>({2}), 3);
}

TEST_F(Safetensors, AFileThatIsShortenedWhileItIsOpenIsAnInputError) {
  save_safetensors(path, {{"x", Tensor::zeros({1000, 1000})}});
  const SafetensorsFile file = SafetensorsFile::load(path);
  fs::resize_file(path, 2'000'000);
  EXPECT_EQ(message_of([&] { file.get("x"); }).find("read: " + path.string() + ": it ends at byte 2000000"), 0u);
}

TEST_F(Safetensors, AnyWrongBitIsAnErrorThatNamesTheFile) {
  save_safetensors(path,
                   {{"weight", Tensor::from({1, 2, 3, 4, 5, 6}, {2, 3})}, {"mask", Tensor::zeros({5}, DType::u8)}},
                   {{"step", "12"}});
  const std::string good = read_file(path);
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    const std::string message = message_of([&] { load(bytes); });
    EXPECT_NE(message.find(path.string()), std::string::npos) << "bit " << bit << ": " << message;
  }
  EXPECT_EQ(load(good).get("weight").at<float>({1, 2}), 6);
}

TEST_F(Safetensors, TheChecksumCoversMoreThanOnePiece) {
  Tensor x = Tensor::zeros({1'300'001});
  save_safetensors(path, {{"x", x}, {"odd", Tensor::zeros({3}, DType::u8)}});
  const std::string good = read_file(path);
  for (const size_t at : {good.size() - 1, good.size() - 4, good.size() / 2, size_t{400}}) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    EXPECT_NE(message_of([&] { load(bytes); }).find("its bytes do not match the checksum"), std::string::npos);
  }
  EXPECT_EQ(load(good).get("x").numel(), 1'300'001);
}

TEST_F(Safetensors, AFileOfAnotherProgramHasNoChecksum) {
  EXPECT_EQ(
      load(file_bytes(
               R"({"__metadata__":{"checksum":"sha256:12"},"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
               "ab"))
          .metadata()
          .at("checksum"),
      "sha256:12");
  EXPECT_THROW(save_safetensors(path, {}, {{"qkv.checksum", "mine"}}), Error);
}

TEST_F(Safetensors, EqualInputGivesEqualBytesAndStridesArePacked) {
  const Tensor x = Tensor::from({1, 2, 3, 4, 5, 6}, {2, 3});
  save_safetensors(path, {{"x", x.transpose(0, 1)}, {"y", x.slice(1, 1, 2)}}, {{"b", "2"}, {"a", "1"}});
  const std::string first = read_file(path);
  save_safetensors(path, {{"x", x.transpose(0, 1).clone()}, {"y", x.slice(1, 1, 2).clone()}},
                   {{"a", "1"}, {"b", "2"}});
  EXPECT_EQ(read_file(path), first);
  EXPECT_EQ(first.substr(first.size() - 32), bytes_of<float>({1, 4, 2, 5, 3, 6, 2, 5}));
}

TEST_F(Safetensors, CopiesNumbersThatAreNotAligned) {
  std::string header = R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  while (header.size() % 8 != 1) header += ' ';
  const Tensor x = load(file_bytes(header, bytes_of<float>({1, 2}))).get("x");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(x.data<float>()) % 4, 0u);
  EXPECT_EQ(x.at<float>({1}), 2);
}

TEST_F(Safetensors, ConvertsHalfDoubleAndLong) {
  const auto one = [&](const std::string& dtype, int count, const std::string& data) {
    return load(file_bytes(
        fmt::format(R"({{"x":{{"dtype":"{}","shape":[{}],"data_offsets":[0,{}]}}}})", dtype, count, data.size()),
        data));
  };
  const Tensor half =
      one("F16", 7, bytes_of<uint16_t>({0x3c00, 0xc000, 0x7bff, 0x0001, 0x8000, 0xfc00, 0x7e00})).get("x");
  EXPECT_EQ(half.at<float>({0}), 1.0f);
  EXPECT_EQ(half.at<float>({1}), -2.0f);
  EXPECT_EQ(half.at<float>({2}), 65504.0f);
  EXPECT_EQ(half.at<float>({3}), 0x1p-24f);
  EXPECT_TRUE(std::signbit(half.at<float>({4})));
  EXPECT_EQ(half.at<float>({5}), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(half.at<float>({6})));
  EXPECT_EQ(one("F64", 1, bytes_of<double>({0.1})).get("x").at<float>({0}), 0.1f);
  EXPECT_EQ(one("I64", 2, bytes_of<int64_t>({5, -7})).get("x").at<int32_t>({1}), -7);
  EXPECT_EQ(one("BOOL", 2, std::string("\0\1", 2)).get("x").at<uint8_t>({1}), 1);
  const SafetensorsFile large = one("I64", 1, bytes_of<int64_t>({int64_t{1} << 31}));
  EXPECT_EQ(message_of([&] { large.get("x"); }),
            "safetensors: " + path.string() + ": tensor 'x': 2147483648 does not fit in 32 bits");
  const SafetensorsFile other = one("U16", 1, bytes_of<uint16_t>({1}));
  EXPECT_EQ(message_of([&] { other.get("x"); }),
            "safetensors: " + path.string() + ": tensor 'x': cannot read numbers of type U16");
}

TEST_F(Safetensors, TheErrorForAnUnknownNameListsTheNames) {
  save_safetensors(path, {{"x", Tensor::zeros({2, 3})}});
  const SafetensorsFile file = SafetensorsFile::load(path);
  EXPECT_EQ(message_of([&] { file.get("y"); }), "safetensors: " + path.string() + ": no tensor 'y' among its 1");
  EXPECT_EQ(message_of([&] {
              file.get("x", {3, 2});
            }),
            "safetensors: " + path.string() + ": tensor 'x' has shape (2, 3), expected (3, 2)");
}

TEST_F(Safetensors, SavesNoFileThatItCouldNotRead) {
  const Tensor x = Tensor::zeros({1});
  EXPECT_THROW(save_safetensors(path, {{"x", x}, {"x", x}}), Error);
  EXPECT_THROW(save_safetensors(path, {{"__metadata__", x}}), Error);
  EXPECT_THROW(save_safetensors(path, {{"x", Tensor()}}), Error);
  EXPECT_THROW(save_safetensors(path, {{"\xff", x}}), Error);
  EXPECT_THROW(save_safetensors(path, {{"x", x}}, {{"key", "\xff"}}), Error);
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(message_of([&] {
              save_safetensors("/dev/full", {{"x", Tensor::zeros({1'000'000})}});
            }),
            "write: /dev/full: No space left on device");
}

struct Broken {
  std::string bytes;
  std::string message;  // a part of it
};

std::string entry(const std::string& fields) { return R"({"x":{)" + fields + "}}"; }

TEST_F(Safetensors, ABrokenHeaderIsRejectedWithItsReason) {
  const std::string eight(8, 'x');
  const std::string good = R"("dtype":"F32","shape":[2],"data_offsets":[0,8])";
  const std::string metadata = R"({"__metadata__":)";
  const Broken table[] = {
      {"", "0 bytes, too short"},
      {"1234567", "7 bytes, too short"},
      {std::string("\x05\0\0\0\0\0\0\0{}", 10), "header would be 5 bytes long, the file has 2"},
      {"\xff\xff\xff\xff\xff\xff\xff\xff", "header would be 18446744073709551615 bytes long, the format allows"},
      {file_bytes(""), "does not begin with '{'"},
      {file_bytes("[]"), "does not begin with '{'"},
      {file_bytes(" {}"), "does not begin with '{'"},
      {file_bytes("{"), "not valid JSON at its byte 2"},
      {file_bytes("{}}"), "not valid JSON at its byte 3"},
      {file_bytes("{\"\xff\":{}}"), "not valid JSON"},
      {file_bytes(R"({"x":3})"), "tensor 'x': expected an object, got 3"},
      {file_bytes(R"({"x":[]})"), "tensor 'x': expected an object, got an array"},
      {file_bytes(R"({"x":{}})"), "tensor 'x': dtype is missing"},
      {file_bytes(R"({"a\nb":{}})"), "tensor 'a\\x0ab': dtype is missing"},
      {file_bytes(entry(R"("dtype":"F32","data_offsets":[0,8])"), eight), "tensor 'x': shape is missing"},
      {file_bytes(entry(R"("dtype":"F32","shape":[2])"), eight), "tensor 'x': data_offsets is missing"},
      {file_bytes(entry(good + R"(,"extra":1)"), eight), "not 'extra', got 1"},
      {file_bytes(entry(good + R"(,"extra":{})"), eight), "not 'extra', got an object"},
      {file_bytes(entry(good + R"(,"extra":[])"), eight), "not 'extra', got an array"},
      {file_bytes(entry(good + R"(,"dtype":"F32")"), eight), "dtype occurs twice"},
      {file_bytes(entry(good + R"(,"shape":[2])"), eight), "shape occurs twice"},
      {file_bytes(R"({"x":{)" + good + R"(},"x":{)" + good + "}}", eight), "two tensors have the name 'x'"},
      {file_bytes(entry(R"("dtype":"F33","shape":[2],"data_offsets":[0,8])"), eight), "dtype 'F33' is unknown"},
      {file_bytes(entry(R"("dtype":["F32"],"shape":[2],"data_offsets":[0,8])"), eight),
       "a string for dtype, got an array"},
      {file_bytes(entry(R"("dtype":null,"shape":[2],"data_offsets":[0,8])"), eight),
       "a string for dtype, got null"},
      {file_bytes(entry(R"("dtype":"F32","shape":2,"data_offsets":[0,8])"), eight), "for shape, got 2"},
      {file_bytes(entry(R"("dtype":"F32","shape":"2","data_offsets":[0,8])"), eight), "for shape, got a string"},
      {file_bytes(entry(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])"), eight), "for shape, got -2"},
      {file_bytes(entry(R"("dtype":"F32","shape":[2.5],"data_offsets":[0,8])"), eight), "for shape, got 2.5"},
      {file_bytes(entry(R"("dtype":"F32","shape":[[2]],"data_offsets":[0,8])"), eight), "for shape, got an array"},
      {file_bytes(entry(R"("dtype":"F32","shape":[{}],"data_offsets":[0,8])"), eight), "for shape, got an object"},
      {file_bytes(entry(R"("dtype":"F32","shape":[true],"data_offsets":[0,8])"), eight), "for shape, got true"},
      {file_bytes(entry(R"("dtype":"F32","shape":[1,1,1,1,1,1,2],"data_offsets":[0,8])"), eight),
       "shape has more than 6 numbers"},
      {file_bytes(entry(R"("dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8])"), eight),
       "shape 18446744073709551615 is too large"},
      {file_bytes(entry(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8])"), eight),
       "shape (4294967296, 4294967296) has too many elements"},
      {file_bytes(entry(R"("dtype":"U8","shape":[9007199254740992,128],"data_offsets":[0,1152921504606846976])")),
       "has too many elements"},
      {file_bytes(entry(R"("dtype":"F32","shape":[0,4294967296,4294967296],"data_offsets":[0,0])")),
       "has too many elements"},
      {file_bytes(entry(R"("dtype":"F32","shape":[2],"data_offsets":[8])"), eight), "must be two numbers, got 1"},
      {file_bytes(entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,8,8])"), eight),
       "must be two numbers, got 3"},
      {file_bytes(entry(R"("dtype":"F32","shape":[2],"data_offsets":[0.0,8])"), eight), "for data_offsets, got 0"},
      {file_bytes(entry(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"), eight),
       "[8, 0) end before they begin"},
      {file_bytes(entry(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])"), eight),
       "offsets [0, 8) hold 8 bytes, F32 of shape (3) are 12 bytes"},
      {file_bytes(entry(R"("dtype":"F32","shape":[100],"data_offsets":[0,400])"), eight),
       "tensor 'x': offsets [0, 400), but the file has 8 bytes of data"},
      {file_bytes(entry(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])"), eight),
       "offsets [4, 8) leave a gap, expected to begin at 0"},
      {file_bytes(R"({"x":{"dtype":"U8","shape":[6],"data_offsets":[0,6]},)"
                  R"("y":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
                  eight),
       "tensor 'y': offsets [4, 8) overlap those of another tensor, expected to begin at 6"},
      {file_bytes(entry(good), eight + "more"), "12 bytes of data, but the tensors end at 8"},
      {file_bytes(metadata + "3}"), "__metadata__: expected an object, got 3"},
      {file_bytes(metadata + R"({"step":3}})"), "__metadata__: expected a string for 'step', got 3"},
      {file_bytes(metadata + R"({"step":{}}})"), "__metadata__: expected a string for 'step', got an object"},
      {file_bytes(metadata + R"({"a":"1","a":"2"}})"), "metadata 'a' occurs twice"},
      {file_bytes(metadata + R"({},"__metadata__":{}})"), "__metadata__ occurs twice"},
  };
  for (const Broken& broken : table) {
    const std::string message = message_of([&] { load(broken.bytes); });
    EXPECT_TRUE(message.starts_with("safetensors: " + path.string() + ": ")) << message;
    EXPECT_NE(message.find(broken.message), std::string::npos) << message << "\nexpected: " << broken.message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST_F(Safetensors, ADeepOrLongHeaderIsRejectedAtOnce) {
  for (const std::string& open : {std::string("["), std::string("{\"x\":"), std::string("{\"x\":{\"shape\":[")}) {
    std::string bomb = open[0] == '[' ? "{\"x\":" : "";
    while (bomb.size() < 1'000'000) bomb += open;
    EXPECT_NE(message_of([&] { load(file_bytes(bomb)); }), "no error");
  }
  std::string list = R"({"x":{"shape":[)";
  for (int i = 0; i < 500'000; ++i) list += "0,";
  EXPECT_NE(message_of([&] { load(file_bytes(list)); }).find("more than 6 numbers"), std::string::npos);
}

// Bytes of a valid file are changed, removed, doubled or replaced by other numbers: reading must either throw an
// InputError or give tensors that can be read to their end.
TEST_F(Safetensors, RandomDamageIsRejectedOrHarmless) {
  save_safetensors(path,
                   {{"weight", Tensor::from({1, 2, 3, 4, 5, 6}, {2, 3})},
                    {"ids", Tensor::from(std::vector<int32_t>{1, 2, 3}, {3})},
                    {"mask", Tensor::zeros({5}, DType::u8)}},
                   {{"step", "12"}});
  const std::string good = read_file(path);
  const std::string pieces[] = {"9",   "-",   "[", "]", "{", "}", "\"", ",", "0", "18446744073709551615",
                                "1e9", "F64", ":"};
  Random random(3);
  int refused = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string bytes = good;
    for (uint64_t changes = 1 + random.below(3); changes > 0 && !bytes.empty(); --changes) {
      const size_t at = random.below(bytes.size());
      switch (random.below(5)) {
        case 0: bytes[at] = static_cast<char>(random.below(256)); break;
        case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8))); break;
        case 2: bytes.erase(at, 1 + random.below(8)); break;
        case 3: bytes.insert(at, pieces[random.below(std::size(pieces))]); break;
        case 4: bytes.resize(at + 1); break;
      }
    }
    try {
      // In a block of exactly its size, so that the address sanitizer detects a read past its end.
      parse_safetensors_header(std::string_view(std::vector<char>(bytes.begin(), bytes.end()).data(), bytes.size()),
                               "copy");
      const SafetensorsFile file = load(bytes);
      for (const std::string& name : file.names()) {
        const Tensor x = file.get(name);
        EXPECT_LE(x.numel(), 64);
        for (int64_t i = 0; i < x.numel() * size_of(x.dtype()); ++i) EXPECT_LE(0, int(x.storage()->data()[i]));
      }
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 2000);
  EXPECT_LT(refused, 5000);
}

// A header of one byte more leaves every number at an odd address.
TEST_F(Safetensors, MappedGivesTheSameTensorsInPlaceWhereTheyAreAligned) {
  const std::string header =
      R"({"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"b":{"dtype":"BF16","shape":[1,2],"data_offsets":[8,12]},)"
      R"("h":{"dtype":"F16","shape":[1],"data_offsets":[12,14]},"none":{"dtype":"F32","shape":[0,3],"data_offsets":[14,14]}})";
  const std::string data =
      bytes_of<float>({1.5f, -2}) + bytes_of<uint16_t>({0x3f80, 0xc000}) + bytes_of<uint16_t>({0x3c00});
  const size_t blanks = 8 - header.size() % 8;
  for (const bool aligned : {true, false}) {
    SafetensorsFile file = load(file_bytes(header + std::string(blanks + (aligned ? 0 : 1), ' '), data));
    file.map();
    fs::remove(path);
    const Tensor a = file.get("a", {2, 1}), b = file.get("b", {1, 2}), h = file.get("h");
    EXPECT_EQ(a.storage()->writable(), !aligned);
    EXPECT_EQ(b.storage()->writable(), !aligned);
    EXPECT_TRUE(h.storage()->writable()) << "converted";
    EXPECT_EQ(a.at<float>({0, 0}), 1.5f);
    EXPECT_EQ(a.at<float>({1, 0}), -2);
    EXPECT_EQ(b.to(DType::f32).at<float>({0, 1}), -2);
    EXPECT_EQ(h.at<float>({0}), 1);
    EXPECT_EQ(file.get("none").numel(), 0);
  }
}

TEST_F(Safetensors, ATensorOutlivesTheMappedFile) {
  Tensor a;
  {
    SafetensorsFile file =
        load(file_bytes(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}       )", bytes_of<float>({7})));
    file.map();
    a = file.get("a");
  }
  EXPECT_EQ(a.at<float>({0}), 7);
}

}  // namespace qkv::safetensors_test
