// What must hold in a SentencePiece model file before the SentencePiece library is given it: the library trusts
// offsets and texts inside the file, and a broken one makes it read outside its memory or end the program.
//
//     if (auto wrong = sentencepiece_error(bytes)) fail<InputError>(path, "not a SentencePiece model: {}", *wrong);
//
// Checked are the protobuf framing of the whole message, every piece (UTF-8, no NUL, not empty, a finite score, a
// known type, none twice), the kind of model, and the normalisation rules: a double array (Aoe et al., 1992) whose
// every step must stay inside it, and whose values must point into the texts that follow it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace qkv {

std::optional<std::string> sentencepiece_error(std::string_view model);

}  // namespace qkv
