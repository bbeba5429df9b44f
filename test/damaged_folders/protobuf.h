// A message of protocol buffers as the list of its fields: as much as it takes to change one.
//
//     std::vector<ProtobufField> fields = *protobuf_fields(bytes);     // nothing: this is not a message
//     fields[0].bytes = "the";
//     bytes = protobuf_bytes(fields);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qkv::test {

struct ProtobufField {
  enum Type : uint64_t { varint = 0, fixed64 = 1, text = 2, fixed32 = 5 };
  uint64_t number = 0;
  uint64_t type = varint;
  uint64_t value = 0;  // of a varint
  std::string bytes;   // of the others
};

std::optional<std::vector<ProtobufField>> protobuf_fields(std::string_view bytes);
std::string protobuf_bytes(const std::vector<ProtobufField>& fields);

}  // namespace qkv::test
