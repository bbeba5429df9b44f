#include "qkv/text/tokenizer.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/bind.h"
#include "python/src/text.h"
#include "qkv/published/load_model.h"
#include "qkv/published/model_folder.h"

namespace qkv::python {
namespace {

Tokenizer train_tokenizer(nb::handle sentences, nb::handle type, int64_t vocabulary_size, double character_coverage,
                          bool lossless, int64_t max_sentences, uint64_t seed) {
  const TokenizerOptions options{
      .type = value_named<TokenizerType>(string_of(type, "Tokenizer: type"), "Tokenizer", "type"),
      .vocabulary_size = vocabulary_size,
      .character_coverage = character_coverage,
      .lossless = lossless,
      .max_sentences = max_sentences,
      .seed = seed};
  const std::vector<std::string> lines = strings_of(sentences, "Tokenizer.train: sentences");
  const nb::gil_scoped_release unlocked;
  return Tokenizer::train(lines, options);
}

Tokenizer model_tokenizer(const std::filesystem::path& folder, bool target) {
  const nb::gil_scoped_release unlocked;
  return open_model_folder(folder)->tokenizer(target ? TokenizerSide::target : TokenizerSide::source);
}

std::map<std::string, int32_t> special_tokens(const Tokenizer& tokenizer) {
  const SpecialTokens& s = tokenizer.special();
  std::map<std::string, int32_t> out;
  for (const auto& [name, id] : {std::pair("pad", s.pad), std::pair("bos", s.bos), std::pair("eos", s.eos),
                                 std::pair("unk", s.unk), std::pair("mask", s.mask)})
    if (id >= 0) out[name] = id;
  return out;
}

}  // namespace

void bind_tokenizer(nb::module_& m) {
  nb::class_<Tokenizer>(m, "Tokenizer")
      .def_static("train", &train_tokenizer)
      .def_static("load",
                  [](const std::filesystem::path& path) {
                    const nb::gil_scoped_release unlocked;
                    return Tokenizer::load(path);
                  })
      .def_static("from_pretrained", &model_tokenizer)
      .def_static(
          "from_serialized",
          [](nb::bytes bytes) { return Tokenizer::from_serialized(std::string(bytes.c_str(), bytes.size())); })
      .def("save", &Tokenizer::save)
      .def("serialized", [](const Tokenizer& t) { return nb::bytes(t.serialized().data(), t.serialized().size()); })
      .def("encode", [](const Tokenizer& t, nb::handle text) { return t.encode(string_of(text, "encode")); })
      .def("decode", [](const Tokenizer& t, const std::vector<int32_t>& ids) { return text_of(t.decode(ids)); })
      .def("token", [](const Tokenizer& t, int32_t id) { return text_of(t.token(id)); })
      .def("size", &Tokenizer::size)
      .def("special_tokens", &special_tokens);
}

}  // namespace qkv::python
