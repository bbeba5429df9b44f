#include "test/damaged_folders/protobuf.h"

#include "test/damaged_folders/little_endian.h"

namespace qkv::test {
namespace {

uint64_t read_varint(ByteReader& reader) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = reader.number<uint8_t>();
    value |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128) break;
  }
  return value;
}

void write_varint(std::string& bytes, uint64_t value) {
  for (; value >= 128; value >>= 7) bytes += static_cast<char>(value | 128);
  bytes += static_cast<char>(value);
}

}  // namespace

std::optional<std::vector<ProtobufField>> protobuf_fields(std::string_view bytes) {
  std::vector<ProtobufField> fields;
  ByteReader reader(bytes);
  while (!reader.rest().empty()) {
    const uint64_t key = read_varint(reader);
    ProtobufField field{.number = key >> 3, .type = key & 7, .value = 0, .bytes = {}};
    switch (field.type) {
      case ProtobufField::varint: field.value = read_varint(reader); break;
      case ProtobufField::fixed64: field.bytes = reader.text(8); break;
      case ProtobufField::text: field.bytes = reader.text(read_varint(reader)); break;
      case ProtobufField::fixed32: field.bytes = reader.text(4); break;
      default: return {};
    }
    if (!reader.whole()) return {};
    fields.push_back(std::move(field));
  }
  return fields;
}

std::string protobuf_bytes(const std::vector<ProtobufField>& fields) {
  std::string bytes;
  for (const ProtobufField& field : fields) {
    write_varint(bytes, field.number << 3 | field.type);
    if (field.type == ProtobufField::varint) write_varint(bytes, field.value);
    if (field.type == ProtobufField::text) write_varint(bytes, field.bytes.size());
    bytes += field.bytes;
  }
  return bytes;
}

}  // namespace qkv::test
