// Validation of a SentencePiece model file before the SentencePiece library loads it: the library trusts offsets and
// strings in the file, and a corrupt file makes it read out of bounds or abort.
//
//     if (auto wrong = sentencepiece_error(bytes)) fail<InputError>(path, "not a SentencePiece model: {}", *wrong);
//
// It checks the protobuf framing of the whole message, every piece (UTF-8, no NUL, not empty, a finite score, a
// known type, none twice), the kind of model, and the normalisation rules: a double array (Aoe et al., 1992) whose
// every step must stay inside it, and whose values must point into the texts that follow it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace qkv {

std::optional<std::string> sentencepiece_error(std::string_view model);
// The normalisation rules of a checked model, as PrecompiledMap reads them; empty: none.
std::string_view sentencepiece_rules(std::string_view model);

}  // namespace qkv
