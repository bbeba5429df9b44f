// Arithmetic in bfloat16.
#include "test/golden_test/case.h"

namespace qkv::golden {
namespace {

void dtype(Case& c) { throw NotBuilt("attention in " + c.text("dtype") + " is not built yet"); }

const Group group("dtype", dtype);

}  // namespace
}  // namespace qkv::golden
